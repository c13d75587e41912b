"""`python -m benchmarks.asking`: what a person gets who asks as people ask, by the sets in questions/asking.

One half of each set at a time: rules are made by looking at the open one, and the closed one says at the end what they
are worth. The libraries are read from the PDFs once and kept (`--fresh`: anew); each question goes through the public
Engine as a one-shot command, the turns of a dialogue as a chat, with the built-in embedder and no language model.

n            questions; of dialogues, turns
line         what `--brief` prints holds all that is wanted; of lists of papers, they are the wanted ones and no others
first        the first block does, of a comparison the first two
shown        the terminal's answer does; of lists, F1 of the papers is .8 or more
quotes       all quotes do, also those that are shown in part
paper@4      a wanted paper, of a comparison each, is among the first four passages
high         `right/all` of the answers with high confidence; right: shown
refused      how many; of `near`, where no paper has the answer, it is right
chars        median length of what is shown

A turn that is no question ("thanks") is right where the answer is short and cites nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.contract import ENVIRONMENT, read_papers
from benchmarks.corpora import cache_folder, data_folder
from benchmarks.report import REPOSITORY
from benchmarks.running import module, run_process

ASKING = REPOSITORY / "benchmarks" / "questions" / "asking"
SERIES = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
)
"""All but the first were written by somebody else, from the papers alone. Two rules and one of five readers were chosen
when the second was known; the third chose among three readers, and how much of the question encoder's change is kept;
the dialogues of the second and the fourth chose how readings of a turn are weighed; the fifth chose nothing. How sure a
question must be for the library was chosen when these five were known; the sixth chose nothing. The seventh has
dialogues and library questions alone; it chose that a polite opening of a turn asks nothing. Of the eighth, which asks
two things at once in a set of its own, the open half chose some examples of questions that count. These eight chose
what is shown below the first line, and which rules were taken away; with the ninth they chose how sure an answer is,
and how readings of a turn are weighed; the tenth with them that questions in parts are taken apart by a model. Of the
eleventh the open half chose that this model was trained on more questions on one thing, and that a venue's acronym is
known in small letters. When the twelve were known they chose how papers on a subject are told, which words around a
name belong to it, when a question is answered in parts, what of a comparison is shown, and that a turn's next best
reading has a line. The losses of the thirteenth chose that what a question is about is read as one name; one of the
fourteenth, that this does not hold for the facts of a paper that is named, others that papers by a place and of a
decade in words are listed; the open half of the fifteenth, that a side of a comparison is asked without the other's
name."""
SETS = ("dialogues", "library", "cells", "names", "comparisons", "near", "facts", "two_parts")
LISTS = ("holds", "library", "topic", "year", "author", "place", "venue", "uses", "mentions", "evaluates", "cites")
"""The kinds of library questions that are answered by papers; what others want is in their `must_contain`."""
MARKS = ("line", "first", "shown", "quotes", "paper@4")
SILENT = {"RAG_HISTORY": "false", "RAG_AUDIT": "false"}
COLUMNS = 100
UNDERSTOOD = re.compile(r"\A(?:about|understood as): .*?\n\n", re.DOTALL)
"""What a turn was understood as has words of earlier questions: it answers nothing."""
LABEL = re.compile(r"\(?\S+\.pdf(?:, p\.\s?\d+)?\)?|\bp\.\s?\d+(?:, \d+)*|\[\d+\]")
"""File names and pages: their digits answer nothing."""
SHORT = 300
"""Characters of an answer to what is no question."""
Item = dict[str, Any]


def main() -> int:
    """Ask, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.asking", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"{', '.join(SETS)}; all where none is named")
    parser.add_argument("--half", choices=("open", "closed", "both"), default="open")
    parser.add_argument("--series", choices=SERIES, default="first", help="which of the sets of questions")
    parser.add_argument("--show", metavar="ID", help="one question or dialogue: what is wanted and the answer in full")
    parser.add_argument("--misses", action="store_true", help="name the questions that have no right answer shown")
    parser.add_argument("--json", metavar="FILE", type=Path, help="all outcomes and answers")
    parser.add_argument("--fresh", action="store_true", help="read the papers anew")
    parser.add_argument("--check", action="store_true", help="hold what is wanted against the pages instead")
    parser.add_argument("--read", nargs=2, metavar=("FOLDER", "HOME"), help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if unknown := set(asked.sets) - set(SETS):
        parser.error(f"there is no set {min(unknown)!r}; there are {', '.join(SETS)}")
    data = data_folder()
    if data is None:
        print("asking: skipped, as ../shared/data is not on this machine")
        return 0
    os.environ |= ENVIRONMENT | SILENT
    if asked.read:
        read_papers(data / asked.read[0], asked.read[0], Path(asked.read[1]))
        return 0
    folder = folder_of(asked.series)
    sets = asked.sets or [name for name in SETS if (folder / f"{name}.jsonl").is_file()]
    items = [item for name in sets for item in questions(name, folder)]
    if asked.check:
        return check(items, data)
    if asked.show:
        items = [item for item in items if item["id"] == asked.show]
    elif asked.half != "both":
        items = [item for item in items if item["half"] == asked.half]
    outcomes = list(_asked(items, data, asked.fresh))
    if asked.show:
        for each in outcomes:
            print(f"\n> {each['question']}\n  wanted: {each['wanted']}\n\n{each['answer']}")
            print("\n ", {mark: each[mark] for mark in (*MARKS, "confidence", "refused")}, *each["named"], sep="\n  ")
        return 0
    _table(outcomes, [name for name in SETS if name in sets])
    if asked.misses:
        missed = [each for each in outcomes if each["set"] != "near" and not each["shown"]]
        print(*(f"{each['id']}  {each['question']}  [{each['wanted']}]" for each in missed), sep="\n")
    if asked.json:
        asked.json.write_text(json.dumps(outcomes, ensure_ascii=False, indent=1), encoding="utf-8")
    return 0


def questions(name: str, folder: Path = ASKING) -> list[Item]:
    """The questions of a set, those of the dialogues with their turns."""
    lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [{"set": name, **json.loads(line)} for line in lines]


def folder_of(series: str) -> Path:
    """Where the sets of a series are."""
    return ASKING if series == "first" else ASKING.with_name(f"asking_{series}")


def outcomes(series: str, data: Path) -> Iterator[Item]:
    """Those of all questions and turns of a series."""
    there = [name for name in SETS if (folder_of(series) / f"{name}.jsonl").is_file()]
    return _asked([item for name in there for item in questions(name, folder_of(series))], data, fresh=False)


def library_home(folder: str, fresh: bool) -> Path:
    """The library of one folder of papers, for this checkout and its way to read alone: others may store otherwise."""
    from ragscience.core.tokenizing import TOKENIZER_VERSION
    from ragscience.reading import READING_VERSION

    kept_for = hashlib.sha256(f"{REPOSITORY}, {READING_VERSION}, {TOKENIZER_VERSION}".encode()).hexdigest()[:12]
    home = cache_folder("asking") / f"{kept_for}-{folder}"
    if fresh and home.exists():
        shutil.rmtree(home)
    if not (home / "vectorstore").exists():
        home.mkdir(exist_ok=True)
        run_process(module("asking", "--read", folder, str(home)), {**ENVIRONMENT, "RAG_TEST_DATA": str(data_folder())})
    return home


# Asking


def _asked(items: Sequence[Item], data: Path, fresh: bool) -> Iterator[Item]:
    from ragscience import AskRequest, Engine

    for folder in dict.fromkeys(item["library"] for item in items):
        names = [path.name for path in (data / folder).glob("*.pdf")]
        with Engine.open(library_home(folder, fresh=fresh)) as engine:
            for item in (item for item in items if item["library"] == folder):
                dialogue = engine.dialogue()
                for number, turn in enumerate(item.get("turns") or [item], start=1):
                    answer = engine.ask(AskRequest(turn["question"]), dialogue=dialogue)
                    name = f"{item['id']}.{number}" if "turns" in item else item["id"]
                    yield {**_judged(answer, turn, names), "id": name, "set": item["set"]}


def _judged(answer: Any, item: Item, names: Sequence[str]) -> Item:
    """The answer's marks, with its text and what was wanted."""
    from ragscience.cli.answer_view import brief_line

    line, first, shown = brief_line(answer), _first(answer, item["kind"]), _shown(answer)
    quotes = "\n".join((answer.text, *(f"{block.lead} {block.text}" for block in answer.blocks)))
    cited = {cite.file for block in answer.blocks for cite in block.citations}
    named = sorted(cited | {name for name in names if name in quotes})
    passages = [hit.chunk.file for hit in answer.found.hits[:4]] or named
    wanted, kind = set(item["files"]), item["kind"]
    if kind == "small_talk":
        marks = dict.fromkeys(MARKS, not cited and len(shown) <= SHORT)
    elif kind in LISTS:
        optional = set(named) if item.get("at_least") else set(item.get("optional", ()))
        given = set(named) - (optional - wanted)
        both = 2 * len(given & wanted) / max(1, len(given) + len(wanted))
        marks = {**dict.fromkeys(("line", "first"), given == wanted), "shown": both >= 0.8, "quotes": both >= 0.8}
        marks["paper@4"] = bool(given & wanted)
    else:
        texts = zip(MARKS, (line, first, shown, quotes), strict=False)
        marks = {mark: not answer.refused and _right(text, item, named) for mark, text in texts}
        each = wanted <= set(passages) if kind == "comparison" else bool(wanted & set(passages))
        marks["paper@4"] = each or not wanted
    return {
        "kind": kind,
        "question": item["question"],
        "wanted": item["must_contain"] or item["files"],
        "answer": shown,
        "line_text": line,
        "named": named,
        "chars": len(shown),
        "refused": answer.refused,
        "confidence": answer.confidence,
        **{mark: int(value) for mark, value in marks.items()},
    }


def _right(text: str, item: Item, named: Sequence[str]) -> bool:
    """Whether the text holds what is wanted and the answer names a wanted paper; without words, those papers alone."""
    from ragscience.evaluation.answer_metrics import holds_all

    if not item["must_contain"]:
        return item["kind"] != "near" and set(named) == set(item["files"])
    names_one = not item["files"] or not set(item["files"]).isdisjoint(named)
    return names_one and holds_all(LABEL.sub(" ", text), [tuple(group) for group in item["must_contain"]])


def _first(answer: Any, kind: str) -> str:
    """The first block that says something, a list's items as one; of a comparison two."""
    blocks = [block for block in answer.blocks if block.kind != "heading" and not block.text.startswith("Found in ")]
    if not blocks:
        return str(answer.text)
    count = 2 if kind == "comparison" else 1
    if count == 1 and blocks[0].kind in ("text", "item"):
        count = next((at for at, block in enumerate(blocks) if at and block.kind != "item"), len(blocks))
    return "\n".join(f"{block.lead} {block.text}" for block in blocks[:count])


def _shown(answer: Any) -> str:
    """The answer on a terminal, without its sources."""
    from rich.console import Console

    from ragscience.cli.answer_view import answer_view

    text = io.StringIO()
    answer_view(answer, Console(file=text, width=COLUMNS, force_terminal=True, color_system=None))
    lines = "\n".join(line.rstrip() for line in text.getvalue().splitlines()).strip()
    return UNDERSTOOD.sub("", lines)


def _table(outcomes: Sequence[Item], sets: Sequence[str]) -> None:
    print(f"{'set':<12}{'n':>4}", *(f"{mark:>8}" for mark in MARKS), f"{'high':>8}{'refused':>8}{'chars':>7}")
    for name in (*sets, "all") if len(sets) > 1 else sets:
        rows = [each for each in outcomes if name in ("all", each["set"]) and (name != "all" or each["set"] != "near")]
        if not rows:
            continue
        sure = [each for each in rows if each["confidence"] == "high" and not each["refused"]]
        right = sum(each["shown"] for each in sure)
        marks = (f"{sum(each[mark] for each in rows) / len(rows):>8.3f}" for mark in MARKS)
        refused = sum(each["refused"] for each in rows)
        high = f"{right}/{len(sure)}"
        print(f"{name:<12}{len(rows):>4}", *marks, end=" ")
        print(f"{high:>8}{refused:>8}{median(each['chars'] for each in rows):>7.0f}")


# What is wanted, held against the pages


def check(items: Sequence[Item], data: Path) -> int:
    """Print what is wanted and stands on none of the pages named."""
    import pymupdf

    from ragscience.evaluation.answer_metrics import holds

    texts: dict[Path, list[str]] = {}
    wrong = list[str]()
    for item in items:
        if item["half"] != ("open" if int(item["id"][-2:]) % 2 else "closed"):
            wrong.append(f"{item['id']}: in the wrong half")
        for turn in item.get("turns") or [item]:
            pages = list[str]()
            for file in turn["files"]:
                path = data / item["library"] / file
                if not path.exists():
                    wrong.append(f"{item['id']}: there is no {file}")
                elif path not in texts:
                    with pymupdf.open(path) as document:
                        texts[path] = [str(page.get_text()) for page in document]
                numbers = turn.get("pages", {}).get(file) or range(1, len(texts.get(path, ())) + 1)
                pages += [texts[path][page - 1] for page in numbers if path in texts]
            for group in turn["must_contain"] if turn["kind"] not in ("count", "help") else ():
                if not any(holds(page, one) for one in group for page in pages):
                    wrong.append(f"{item['id']}: {group} is not on the pages: {turn['question']}")
    print(*wrong, f"{len(items)} questions and dialogues, {len(wrong)} wrong", sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
