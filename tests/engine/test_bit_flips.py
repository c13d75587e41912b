"""A damaged file of a home: no altered word is shown, and no result changes without a warning."""

import os
import random
import shutil
from collections import Counter
from dataclasses import dataclass, field
from functools import partial

import pytest

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Filters
from ragscience.core.settings import load_settings
from ragscience.engine import AskRequest, Engine, SearchRequest, Warned
from tests.conftest import copied
from tests.pdf_factory import make_pdf

SEED = 20261122
PAGE = 4096
"""Bytes of a page of SQLite."""
QUESTIONS = ("How do bees find their way?", "At what temperature are glazes fired?", "What moves the tides?")
SEARCHES = (
    *(SearchRequest(question) for question in QUESTIONS),
    SearchRequest(QUESTIONS[0], filters=Filters(pages=(1, 1))),
    SearchRequest("What does BERT outperform on SQuAD?", graph=True),
)
BERT = ["BERT and GPT-2\n\nBERT was trained on Wikipedia.\nBERT outperforms GPT-2 on SQuAD by 3 points."]
APART = ("writer.lock", ".sqlite-shm")


class Score(float):
    """A score; equal to one that differs by the order in which a processor adds."""

    def __eq__(self, other):
        return abs(self - other) < 1e-5

    __hash__ = float.__hash__


@dataclass
class Shown:
    """What a user sees of a home."""

    results: dict = field(default_factory=dict)
    """By the name of each command, what it gave, without times."""
    words: set = field(default_factory=set)
    """Each text that was shown: of passages, pages, titles, names, answers."""
    quotes: set = field(default_factory=set)
    """What answers quote, with single spaces."""
    warnings: list = field(default_factory=list)
    errors: dict = field(default_factory=dict)


def look(home, models=None):
    """What search, ask, show and page give, each on its own, as separate commands do."""
    shown = Shown()
    events = []
    settings = load_settings(
        home=home, offline=True, embedder="embedded", answerer="extractive", rerank="late-interaction"
    )
    with Engine.open(home, settings, on_event=events.append) as engine:
        if models is not None:
            engine._made["models"] = models

        def run(name, act):
            try:
                act(name)
            except RagScienceError as error:
                assert error.fix, error
                shown.errors[name] = str(error)

        def search(request):
            def act(name):
                found = engine.search(request)
                shown.results[name] = [
                    (hit.chunk.file, hit.chunk.page_start, hit.chunk.text, hit.chunk.section, scores_of(hit))
                    for hit in found.hits
                ]
                shown.words.update(text for row in shown.results[name] for text in (row[0], row[2], row[3]))
                shown.warnings.extend(found.warnings)

            return act

        def ask(question):
            def act(name):
                answer = engine.ask(AskRequest(question))
                quotes = [(one.file, one.page, one.quote, one.boxes) for one in answer.citations]
                shown.results[name] = (answer.text, quotes)
                shown.quotes.update(" ".join(quote.split()) for _, _, quote, _ in quotes)
                shown.warnings.extend(answer.warnings)

            return act

        def papers(name):
            shown.results[name] = [
                (paper.file, paper.title, paper.pages, paper.metadata) for paper in engine.papers.list()
            ]
            shown.words.update(text for row in shown.results[name] for text in row[:2])

        def page(file, number):
            def act(name):
                view = engine.papers.page(file, number)
                shown.results[name] = (view.text, view.page, [(one.kind, one.section) for one in view.elements])
                shown.words.add(view.text)

            return act

        def outline(file):
            def act(name):
                view = engine.papers.outline(file)
                shown.results[name] = (view.bibtex_key, view.headings, view.tables, view.figures, view.references)
                shown.words.update(entry.text for entry in view.headings)

            return act

        def related(name):
            near = engine.graph.related("bees.pdf", 3)[1]
            shown.results[name] = [(paper.file, Score(cosine)) for paper, cosine in near]
            shown.words.update(paper.file for paper, _ in near)

        for number, request in enumerate(SEARCHES):
            run(f"search {number}", search(request))
        run("ask", ask(QUESTIONS[1]))
        run("papers", papers)
        run("related", related)
        for file in ("bees.pdf", "kilns.pdf", "tides.pdf"):
            run(f"page of {file}", page(file, 1))
            run(f"outline of {file}", outline(file))
        models = engine.models
    shown.warnings += [event.text for event in events if isinstance(event, Warned)]
    return shown, models


def scores_of(hit):
    return {name: Score(score) for name, score in dict(hit.scores).items() if score is not None}


def flip(path, bit):
    """Flip one bit; the file's times stay, as they do where a disk fails."""
    byte = path.read_bytes()[bit // 8]
    overwrite(path, bit // 8, bytes([byte ^ 1 << bit % 8]))


def zero(path, start, size):
    overwrite(path, start, bytes(size))


def overwrite(path, start, data):
    stat = path.stat()
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


@pytest.fixture(scope="module")
def whole(three_papers, tmp_path_factory):
    """A home with every kind of file, and what is shown of it."""
    home = copied(three_papers, tmp_path_factory.mktemp("whole") / "home")
    with Engine.open(home, load_settings(home=home, offline=True, embedder="embedded")) as engine:
        from ragscience.engine.graph_runs import GraphRequest

        engine.ingest.add([make_pdf(tmp_path_factory.mktemp("more") / "bert.pdf", BERT)])
        engine.graph.build(GraphRequest())
    shown, models = look(home)
    assert shown.errors == {}
    assert shown.warnings == []
    for path in (home / "vectorstore").glob("history.sqlite*"):
        path.unlink()
    return home, shown, models


def files_of(home):
    """The names of what the commands read, and that of the database."""
    files = sorted(
        path.relative_to(home)
        for path in (home / "vectorstore").rglob("*")
        if path.is_file() and path.stat().st_size and not path.name.endswith(APART)
    )
    files.append((home / "ingested.json").relative_to(home))
    return files, next(name for name in files if name.name == "library.sqlite")


def flips(home, count, seed):
    """(file, what to do to it, where) of bits by chance: every second one of the database."""
    files, database = files_of(home)
    rng = random.Random(seed)
    for number in range(count):
        name = files[number // 2 % len(files)] if number % 2 else database
        whole_file = (home / name).read_bytes()
        bit = rng.randrange(len(whole_file) * 8)
        while name == database and not whole_file[bit // 8]:  # most of a small database is empty
            bit = rng.randrange(len(whole_file) * 8)
        yield name, partial(flip, bit=bit), f"flip {number}: bit {bit} of {name}"


def lost_parts(home):
    """The same of all, the second half and the last eighth of each page of the database: zeros, as of a lost block."""
    _, database = files_of(home)
    whole_file = (home / database).read_bytes()
    for end in range(PAGE, len(whole_file) + 1, PAGE):
        for size in (PAGE, PAGE // 2, PAGE // 8):
            if whole_file[end - size : end].strip(b"\0"):
                yield database, partial(zero, start=end - size, size=size), f"{size} bytes of {database} before {end}"


def kinds_of(damages, whole, tmp_path):
    """The file of each, and "unused", "repaired", "warned" or "refused"; fails where a damage did anything else."""
    home, before, models = whole
    texts = {" ".join(text.split()) for text in before.words}
    kinds = {}
    for name, damage, where in damages:
        copy = tmp_path / "damaged"
        shutil.copytree(home, copy, copy_function=shutil.copy2, symlinks=True)
        damage(copy / name)
        damaged = (copy / name).read_bytes()
        after, _ = look(copy, models)
        assert after.words <= before.words, f"{where}: {after.words - before.words}"
        strange = [quote for quote in after.quotes if not any(quote in text for text in texts)]
        assert not strange, f"{where}: {strange}"
        changed = [key for key, value in before.results.items() if after.results.get(key) != value]
        said = [*after.warnings, *after.errors.values()]
        shown = [(key, before.results[key], after.results.get(key)) for key in changed]
        assert not changed or any("`" in text for text in said), f"{where}: {said} {shown}"
        kind = "refused" if after.errors else "warned" if after.warnings else None
        kind = kind or ("unused" if (copy / name).exists() and (copy / name).read_bytes() == damaged else "repaired")
        kinds[where] = name.name, kind
        shutil.rmtree(copy)
    return kinds


def test_forty_flipped_bits_alter_no_word_and_no_result_without_a_warning(whole, tmp_path):
    kinds = kinds_of(flips(whole[0], 40, SEED), whole, tmp_path)
    assert {"refused", "warned"} & {kind for _, kind in kinds.values()}


@pytest.mark.damage
@pytest.mark.no_cover
@pytest.mark.timeout(3600)
def test_a_hundred_and_sixty_others_do_neither(whole, tmp_path):
    kinds = kinds_of(flips(whole[0], 160, SEED + 1), whole, tmp_path)
    print(*sorted(Counter(kinds.values()).items()), sep="\n")
    assert len(kinds) == 160


@pytest.mark.damage
@pytest.mark.no_cover
@pytest.mark.timeout(3600)
def test_no_lost_part_of_a_page_of_the_database_does_either(whole, tmp_path):
    kinds = kinds_of(lost_parts(whole[0]), whole, tmp_path)
    print(*sorted(Counter(kinds.values()).items()), sep="\n")
    assert {"refused", "warned"} <= {kind for _, kind in kinds.values()}
