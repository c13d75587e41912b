"""What a library holds, held against what it has to hold: the invariants of the campaign."""

from __future__ import annotations

import contextlib
import json
import random
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ragscience.core.errors import LibraryDamaged, RagScienceError
from ragscience.core.settings import load_settings
from ragscience.engine import Engine, SearchRequest
from ragscience.library.store import Home
from tests.soak.answers import read_answers
from tests.soak.shelf import COMMON, Truth, marker

_ENOUGH = 6
"""Passages below which BM25 scores may be 0 or less."""
CLOCK_AREAS = {"clock"}
"""What `doctor` may say where the clock was wrong."""


def settings_of(home: Path) -> Any:
    """Those of each command of the campaign."""
    return load_settings(home=home, offline=True, embedder="embedded", answerer="extractive", rerank="late-interaction")


def read_truth(home: Path, drawn: Mapping[str, tuple[str, int, Path]]) -> dict[str, Truth]:
    """What an undisturbed library holds of each paper, by MD5, after it was held against what was drawn."""
    truths = {}
    with Engine.open(home, settings_of(home)) as engine:
        for paper in engine.papers.list():
            name, version, file = drawn[paper.md5]
            pages = tuple(_pages(engine.library, paper.paper_id).values())
            for number, text in enumerate(pages, 1):
                assert marker(name, version, number) in text, (file, number)
            passages = tuple(_passage(chunk) for chunk in engine.library.paper_chunks(paper.paper_id))
            assert all(COMMON in text for *_, text in passages)
            truths[paper.md5] = Truth(name, version, file, pages, passages)
    assert truths.keys() == drawn.keys()
    return truths


def _pages(library: Any, paper_id: int) -> dict[int, str]:
    """The text of each page that can be read, by its number."""
    found = {}
    for page in library.contents(paper_id).pages:
        with contextlib.suppress(LibraryDamaged):
            found[page.number] = library.contents(paper_id).text(page.number)
    return found


def _passage(chunk: Any) -> tuple[int, int, int, int, str]:
    return chunk.start, chunk.end, chunk.page_start, chunk.page_end, chunk.text


def look(home: Path, truths: Mapping[str, Truth], seed: str, *, may_be_damaged: bool, is_deep: bool) -> int:
    """Print as JSON what the library at `home` holds ("held": file and MD5) and what is wrong with it ("broken").

    "answers" are those that were kept, "damage" is what the program says of damage, and "error" why it refuses to open
    the library. With `may_be_damaged` rows may be left out, and that has to be said; with `is_deep` `doctor` and all
    searches are asked.
    """
    report: dict[str, Any] = {"held": [], "broken": [], "damage": [], "error": "", "findings": []}
    report["answers"] = read_answers(Home(home))
    broken: list[str] = report["broken"]
    try:
        with Engine.open(home, settings_of(home)) as engine:
            papers = engine.papers.list()
            report["held"] = [(paper.file, paper.md5) for paper in papers]
            lost = 0
            for paper in papers:
                lost += _hold_against(engine, paper, truths.get(paper.md5), broken, may_be_damaged=may_be_damaged)
            if is_deep:
                dice = random.Random(seed)
                broken += _searches(engine, truths, dice, may_be_damaged=may_be_damaged)
            report["damage"] = list(engine.library.damage())
            if lost and not report["damage"]:
                broken.append(f"{lost} pages or passages are lost, and nothing is said of it")
            if is_deep:
                report["findings"] = [
                    (one.area, one.message, one.remedy)
                    for one in engine.doctor()
                    if one.severity == "error" and one.area not in CLOCK_AREAS
                ]
    except RagScienceError as error:
        report["error"] = str(error)
        if not error.fix:
            broken.append(f"an error without a fix: {error}")
    print(json.dumps(report))
    return 0


def _hold_against(engine: Engine, paper: Any, truth: Truth | None, broken: list[str], *, may_be_damaged: bool) -> int:
    """How many rows of a paper are left out, of a library that may be damaged; what is wrong goes to `broken`."""
    if truth is None:
        broken.append(f"{paper.file} has an MD5 that no paper has")
        return 0
    library = engine.library
    pages = _pages(library, paper.paper_id)
    expected = dict(enumerate(truth.pages, 1))
    passages = [_passage(chunk) for chunk in library.paper_chunks(paper.paper_id)]
    strange = [number for number, text in pages.items() if expected.get(number) != text]
    if strange:
        broken.append(f"{paper.file}: the text of the pages {strange} is not that of {truth.file.name}")
    wrong = [one for one in passages if one not in truth.passages]
    if wrong:
        broken.append(f"{paper.file}: passages that {truth.file.name} does not have: {wrong}")
    missing = len(expected) - len(pages) + len(truth.passages) - len(passages)
    if missing and not may_be_damaged:
        broken.append(f"{paper.file}: {len(pages)} pages and {len(passages)} passages of {truth.file.name}")
    return missing


def _searches(
    engine: Engine, truths: Mapping[str, Truth], dice: random.Random, *, may_be_damaged: bool
) -> Iterator[str]:
    """What searches find that is not there, or do not find."""
    library = engine.library
    ids, vectors = library.vectors.of()
    if ids.size < _ENOUGH:
        return
    chunks = {chunk.chunk_id: chunk for chunk in library.chunks(ids.tolist())}
    all_words, _ = library.keywords.search(COMMON, 10_000, None)
    if set(all_words.tolist()) != set(ids.tolist()) and not may_be_damaged:
        yield f"the keyword search finds {sorted(all_words.tolist())} of the passages {sorted(ids.tolist())}"
    place = dice.randrange(ids.size)
    nearest, _ = library.dense.search(vectors[place], 3, None)
    texts = [chunks[one].text for one in nearest.tolist() if one in chunks]
    if ids[place] in chunks and chunks[int(ids[place])].text not in texts and not may_be_damaged:
        yield f"the dense search for the vector of passage {ids[place]} finds {nearest.tolist()}"
    for md5 in [*dice.sample(sorted(truths), 2), dice.choice(list(chunks.values())).md5 if chunks else ""]:
        if md5 not in truths:
            continue
        truth = truths[md5]
        word = marker(truth.name, truth.version, 1)
        found, _ = library.keywords.search(word, 100, None)
        wanted = {one for one, chunk in chunks.items() if word in chunk.text}
        if set(found.tolist()) != wanted and not may_be_damaged:
            yield f"the word {word} is found in {found.tolist()}, and stands in {sorted(wanted)}"
    question = dice.choice(list(truths.values())).question
    hits = [(hit.chunk.md5, _passage(hit.chunk)) for hit in engine.search(SearchRequest(question, top_k=50)).hits]
    yield from (
        f"a search gives a passage that is in no paper: {one}"
        for md5, one in hits
        if md5 not in truths or one not in truths[md5].passages
    )
