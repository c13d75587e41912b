"""A damaged file of a home: no altered word is shown, and no result changes without a warning.

`python -m tests.engine.test_bit_flips --flips 1000 --seed 1` flips more bits, and says what came of them file by file.
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Filters
from ragscience.core.settings import load_settings
from ragscience.engine import AskRequest, Engine, SearchRequest, Warned
from ragscience.engine.graph_runs import GraphRequest
from ragscience.library.atomic_files import Home
from ragscience.library.history import History
from tests.commands.papers import fill
from tests.conftest import NOBODY
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
CLOCKS = ["A pendulum clock in a mine\n\nThe clock loses 2 seconds a day at 800 metres."]
APART = ("writer.lock", ".sqlite-shm")
LOGS = (Path("vectorstore/library.sqlite-wal"), Path("vectorstore/history.sqlite-wal"))


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
        home=home, offline=True, embedder="embedded", answerer="extractive", rerank="late-interaction", history=False
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

        def conversations(name):
            found = engine.history.conversations()
            shown.results[name] = found
            shown.words.update(text for one in found for text in (one.name, one.title))

        def turns(name):
            conversation, kept = engine.history.conversation("bees")
            again = [one.answer.answer_id for one in engine.history.search("fly", 5)]
            shown.results[name] = (conversation.name, [(one.created_at, one.answer.text) for one in kept], again)
            shown.words.update(text for one in kept for text in (one.answer.question, one.answer.text))

        def audit(name):
            shown.results[name] = engine.history.audit(5)

        def related(name):
            near = engine.graph.related("bees.pdf", 3)[1]
            shown.results[name] = [(paper.file, Score(cosine)) for paper, cosine in near]
            shown.words.update(paper.file for paper, _ in near)

        for number, request in enumerate(SEARCHES):
            run(f"search {number}", search(request))
        for act in (conversations, turns, audit):
            run(act.__name__, act)
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


def overwrite(path, start, data):
    stat = path.stat()
    with path.open("r+b") as file:
        file.seek(start)
        file.write(data)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def make_homes(folder):
    """A home with every kind of file; and one as a killed process leaves it, with its last commits in the logs."""
    home, killed = folder / "home", folder / "killed"
    fill(home / "papers")
    make_pdf(home / "papers" / "bert.pdf", BERT)
    settings = load_settings(home=home, offline=True, embedder="embedded", answerer="extractive")

    def leave(_):
        if all((home / name).exists() and (home / name).stat().st_size for name in LOGS):
            shutil.copytree(home, killed, copy_function=shutil.copy2, dirs_exist_ok=True)

    with Engine.open(home, settings) as engine:
        engine.ingest.add()
        engine.graph.build(GraphRequest())
        engine.ask(AskRequest(QUESTIONS[0]), dialogue=(dialogue := engine.dialogue(name="bees")))
        engine.ask(AskRequest(QUESTIONS[1]), dialogue=dialogue)
    made = folder / "made"
    shutil.copytree(home, made, copy_function=shutil.copy2)
    make_pdf(home / "papers" / "clocks.pdf", CLOCKS)
    with Engine.open(home, settings) as engine, History.open_for_writing(Home(home).history):
        engine.ask(AskRequest(QUESTIONS[2]))
        engine.ingest.add(on_event=leave)
    return made, killed


@pytest.fixture(scope="module")
def homes(tmp_path_factory):
    return make_homes(tmp_path_factory.mktemp("whole"))


@pytest.fixture(scope="module")
def whole(homes):
    """A home with every kind of file, what is shown of it, and the models for it."""
    return seen(homes[0])


def seen(home):
    """With all that is shown of it, and nothing to complain of."""
    shown, models = look(home)
    assert shown.errors == {}
    assert shown.warnings == []
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
    names = [files[number // 2 % len(files)] if number % 2 else database for number in range(count)]
    return flips_in(home, names, random.Random(seed))


def flips_in(home, names, rng):
    """The same in these files, one after the other."""
    for number, name in enumerate(names):
        whole_file = (home / name).read_bytes()
        bit = rng.randrange(len(whole_file) * 8)
        while name.suffix == ".sqlite" and not whole_file[bit // 8]:  # most of a small database is empty
            bit = rng.randrange(len(whole_file) * 8)
        yield name, partial(flip, bit=bit), f"flip {number}: bit {bit} of {name}"


def lost_parts(home):
    """The same of all, the second half and the last eighth of each page of the database: zeros, as of a lost block."""
    _, database = files_of(home)
    whole_file = (home / database).read_bytes()
    for end in range(PAGE, len(whole_file) + 1, PAGE):
        for size in (PAGE, PAGE // 2, PAGE // 8):
            if whole_file[end - size : end].strip(b"\0"):
                zeros = partial(overwrite, start=end - size, data=bytes(size))
                yield database, zeros, f"{size} bytes of {database} before {end}"


def kinds_of(damages, whole, tmp_path, cache=None):
    """The file of each, and what came of it: "unused", "repaired", "warned", "refused", or "silent" with the details.

    With `cache` the damages are of the models in it, which are opened anew each time.
    """
    home, before, models = whole
    kinds = {}
    for name, damage, where in damages:
        copy = tmp_path / "damaged"
        shutil.copytree(cache or home, copy, copy_function=shutil.copy2, symlinks=True)
        damage(copy / name)
        damaged = zlib.crc32((copy / name).read_bytes())
        if cache:
            with mock.patch.dict(os.environ, RAG_CACHE_FOLDER=str(copy)):
                after, _ = look(home)
        else:
            after, _ = look(copy, models)
        kind = "refused" if after.errors else "warned" if after.warnings else "repaired"
        if kind == "repaired" and (copy / name).exists() and zlib.crc32((copy / name).read_bytes()) == damaged:
            kind = "unused"
        kinds[where] = name.name, kind
        if wrong := wrong_in(before, after):
            kinds[where] = name.name, "silent"
            print(where, wrong)
        shutil.rmtree(copy)
    return kinds


def wrong_in(before, after):
    """What was shown of a damaged home, and is not so; nothing where each change is said with what helps."""
    texts = {" ".join(text.split()) for text in before.words}
    strange = [quote for quote in after.quotes if not any(quote in text for text in texts)]
    changed = [key for key, value in before.results.items() if after.results.get(key) != value]
    is_said = bool(after.errors) or any("`" in text for text in after.warnings)
    return [
        *(f"altered: {text!r}" for text in {*(after.words - before.words), *strange}),
        *(f"{key}: {before.results[key]} became {after.results.get(key)}" for key in changed if not is_said),
    ]


def check(kinds):
    """None is silent, and some are seen."""
    print(*sorted(Counter(kinds.values()).items()), sep="\n")
    found = {kind for _, kind in kinds.values()}
    assert {"refused", "warned"} & found
    assert "silent" not in found


def test_forty_flipped_bits_alter_no_word_and_no_result_without_a_warning(whole, tmp_path):
    check(kinds_of(flips(whole[0], 40, SEED), whole, tmp_path))


def test_a_flipped_bit_in_the_log_of_a_killed_run_loses_nothing_without_a_warning(homes, tmp_path):
    check(kinds_of(flips_in(homes[1], LOGS * 4, random.Random(SEED)), seen(homes[1]), tmp_path))


def test_the_next_writer_says_what_the_log_has_lost(homes, tmp_path):
    copy, events = shutil.copytree(homes[1], tmp_path / "damaged"), []
    flip(copy / LOGS[0], 9000)
    with Engine.open(copy, load_settings(home=copy, offline=True, embedder="embedded")) as engine:
        assert len(engine.papers.list()) == 4
        assert len(engine.library.damage()) == 1
        engine.ingest.add(on_event=events.append)
        assert "`python ingest.py sync`" in next(event.text for event in events if isinstance(event, Warned))
        assert len(engine.papers.list()) == 5
        assert engine.library.damage() == ()


@pytest.mark.damage
@pytest.mark.no_cover
@pytest.mark.timeout(3600)
def test_no_lost_part_of_a_page_of_the_database_does_either(whole, tmp_path):
    check(kinds_of(lost_parts(whole[0]), whole, tmp_path))


def main():
    """Flip bits of all files: half in a home, a third in the logs of a killed run, the others in cached models."""
    parser = argparse.ArgumentParser(prog="python -m tests.engine.test_bit_flips", description=main.__doc__)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder, cache = Path(folder), Path(folder) / "cache"
        os.environ |= {"RAG_CACHE_FOLDER": str(cache), "RAG_OLLAMA_URL": NOBODY}
        made, killed = make_homes(folder)
        whole, left = seen(made), seen(killed)
        count, rng = options.flips, random.Random(options.seed)
        logs, models = count // 5, count // 10
        files = sorted(path.relative_to(cache) for path in cache.rglob("*") if path.is_file())
        kinds = [kinds_of(flips(made, count - logs - models, options.seed), whole, folder)]
        kinds += [kinds_of(flips_in(killed, (LOGS * logs)[:logs], rng), left, folder)]
        kinds += [kinds_of(flips_in(cache, [files[n % len(files)] for n in range(models)], rng), whole, folder, cache)]
    found = Counter(kind for part in kinds for kind in part.values())
    print(*(f"{file}: {kind} {number}" for (file, kind), number in sorted(found.items())), sep="\n")
    silent = sum(number for (_, kind), number in found.items() if kind == "silent")
    print(f"{found.total()} flips of seed {options.seed}, {silent} silent")
    return bool(silent)


if __name__ == "__main__":
    sys.exit(main())
