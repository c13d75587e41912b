"""`make contract`: what the answers and searches were worth before, and what they are worth now, in one table.

Each part makes its library anew from the PDFs (only the model's vectors are kept between runs: see embedding_cache.py)
and asks through the public Engine, with the built-in embedder, without a language model and without a cross-encoder:

any@4         a page that holds the answer is among the first four passages
contained     the answer, with all its quotes, holds all that it must say
first quote   the first quote holds it alone
high          of questions that no paper answers: answered, with high confidence
same lists    of `retrieval`: questions with the same 20 passages in the same order
overlap@20    of `retrieval`: passages in both lists, of all before

benchmarks/contract.json has the figures before, question by question; `--keep` writes them anew. The exit code is 1
where a set is worse by more than two questions, SciFact's nDCG@10 is under .738, or a command's JSON has other keys.
The first run on a machine embeds all texts, which takes some ten minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import runpy
import sys
import tempfile
import time
import typing
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.corpora import data_folder, judged_set
from benchmarks.report import REPOSITORY
from benchmarks.running import module, run_process

STORED = REPOSITORY / "benchmarks" / "contract.json"
QUESTIONS = REPOSITORY / "benchmarks" / "questions"
ALLOWED = 2
"""Questions that a set may lose: three of 290 is chance."""
LEAST_NDCG = 0.738
DEPTH = 20
RANKED = 100
"""Questions whose first passages are compared."""
HOLDING = ("any@4", "contained", "first quote")
SETS: dict[str, dict[str, tuple[str, ...]]] = {
    "papers": {
        "dev": HOLDING,
        "names": HOLDING,
        "own_words": HOLDING,
        "explanations": HOLDING,
        "two_papers": ("any@4", "contained"),
        "kinds": ("contained",),
        "kinds_elements": ("contained",),
        "follow_ups": HOLDING,
        "spelling": HOLDING,
        "languages": HOLDING,
        "near": ("high",),
        "off_topic": ("high",),
    },
    "papers2": {"explanations": HOLDING},
}
"""The figures of each set of questions, by the folder of papers that they are asked of."""
QUOTED = ("quote", "table", "formula", "item")
"""The kinds of blocks whose words are the papers'."""
ENVIRONMENT = {
    "RAG_OLLAMA_URL": "http://127.0.0.1:9",  # where nothing listens
    "RAG_OFFLINE": "true",
    "RAG_EMBEDDER": "embedded",
    "HF_HUB_OFFLINE": "1",
}
Outcomes = dict[str, Any]
"""By "set · figure": 1 for each question that has it, else 0; of retrieval the passages, of commands the keys."""


def main() -> int:
    """Run all parts, two at a time, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.contract", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"{', '.join(PARTS)}; all where none is named")
    parser.add_argument("--keep", action="store_true", help="what is found now is what later runs are compared with")
    parser.add_argument("--json", action="store_true", help="of one part: its outcomes, in this process")
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"there is no part {min(unknown)!r}; there are {', '.join(PARTS)}")
    if data_folder() is None:
        print("contract: skipped, as ../shared/data (papers, questions and judgements) is not on this machine")
        return 0
    parts = asked.parts or list(PARTS)
    if asked.json:
        os.environ |= ENVIRONMENT
        with tempfile.TemporaryDirectory() as folder:
            outcomes = PARTS[parts[0]](Path(folder))
        print(f"\n{json.dumps(outcomes)}")
        return 0
    started = time.perf_counter()
    with ThreadPoolExecutor(2) as pool:
        now = dict(zip(parts, pool.map(_in_process, parts), strict=True))
    kept = json.loads(STORED.read_text(encoding="utf-8")) if STORED.exists() else {}
    if asked.keep:
        kept |= now
        _keep(kept)
    broken = _show(
        *({name: value for part in parts for name, value in each.get(part, {}).items()} for each in (kept, now))
    )
    print(f"{time.perf_counter() - started:.0f} s; {'BROKEN: ' + ', '.join(broken) if broken else 'kept'}")
    return 1 if broken else 0


def _in_process(part: str) -> Outcomes:
    started = time.perf_counter()
    ran = run_process(module("contract", part, "--json"), {**ENVIRONMENT, "RAG_TEST_DATA": str(data_folder())})
    print(f"  {part}: {time.perf_counter() - started:.0f} s", file=sys.stderr)
    outcomes: Outcomes = json.loads(ran.stdout.splitlines()[-1])
    return outcomes


# Questions


def _questions(folder: str, home: Path) -> Outcomes:
    """All sets of one folder of papers, and the first passages of some questions."""
    data = data_folder()
    assert data is not None
    read_papers(data / folder, folder, home)
    from ragscience import Engine, SearchRequest

    outcomes: Outcomes = {}
    with Engine.open(home) as engine:
        for name, figures in SETS[folder].items():
            items = _items(name, {path.name for path in (data / folder).glob("*.pdf")})
            found = {item["id"]: _judged(engine, item) for item in items}
            label = name if folder == "papers" else f"{name}, {folder}"
            for figure in figures:
                outcomes[f"{label} · {figure}"] = {key: int(values[figure]) for key, values in found.items()}
        if folder == "papers":
            ranked = [*_items("dev"), *_items("own_words")][:RANKED]
            outcomes["retrieval"] = {
                item["id"]: _passages(engine.search(SearchRequest(item["question"], top_k=DEPTH))) for item in ranked
            }
    return outcomes


def read_papers(papers: Path, name: str, home: Path) -> None:
    """Read the papers by `ingest.py` itself, in this process."""
    from benchmarks.embedding_cache import keep_embeddings

    keep_embeddings(name)
    sys.argv = ["ingest.py", "add", str(papers), "--home", str(home), "--quiet"]
    try:
        runpy.run_path(str(REPOSITORY / "ingest.py"), run_name="__main__")
    except SystemExit as ended:
        if ended.code:
            raise RuntimeError(f"ingest.py ended with {ended.code}") from None


def _items(name: str, files: set[str] | None = None) -> list[dict[str, Any]]:
    """The questions of a set whose evidence, where they name some, is in the files; of dev those that stand alone."""
    data = data_folder()
    assert data is not None
    path = data / "qa" / "dev.jsonl" if name == "dev" else QUESTIONS / f"{name}.jsonl"
    items = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    wants_answer = name not in ("near", "off_topic")
    items = [item for item in items if item["answerable"] == wants_answer]
    if name == "dev":
        items = [item for item in items if not item.get("history")]
    return [item for item in items if files is None or {each["file"] for each in item["evidence"]} <= files]


def _judged(engine: Any, item: dict[str, Any]) -> dict[str, bool]:
    """Whether the answer has each of the figures."""
    from ragscience import AskRequest
    from ragscience.evaluation.answer_metrics import holds_all

    turn = typing.get_type_hints(AskRequest)["history"].__args__[0]
    history = tuple(turn(each["question"], each["answer"]) for each in item.get("history") or ())
    answer = engine.ask(AskRequest(item["question"], history=history))
    wanted = [tuple(each) if isinstance(each, list) else each for each in item["must_contain"]]
    pages = {(each["file"], each["page"]) for each in [*item["evidence"], *item["alternatives"]]}
    first = next((block for block in answer.blocks if block.kind in QUOTED), None)
    everything = "\n".join((answer.text, *(f"{block.lead} {block.text}" for block in answer.blocks)))
    return {
        "any@4": any(
            (hit.chunk.file, page) in pages
            for hit in answer.found.hits[:4]
            for page in range(hit.chunk.page_start, hit.chunk.page_end + 1)
        ),
        "contained": not answer.refused and holds_all(everything, wanted),
        "first quote": first is not None and holds_all(f"{first.lead} {first.text}", wanted),
        "high": not answer.refused and answer.confidence == "high",
    }


def _passages(found: Any) -> list[str]:
    return [f"{hit.chunk.file} {hit.chunk.page_start} {hit.chunk.start}" for hit in found.hits]


# Judged documents and commands


def _scifact(home: Path) -> Outcomes:
    """nDCG@10 of the 300 judged queries, over a library of one passage a document."""
    from benchmarks.embedding_cache import keep_embeddings
    from ragscience import Engine, SearchRequest

    keep_embeddings("scifact")
    from benchmarks.libraries import fill_judged
    from benchmarks.quality import ndcg_at_10

    judged = judged_set("scifact")
    assert judged is not None
    filled = [key for key, text in zip(judged.document_ids, judged.texts, strict=True) if text]
    fill_judged(home, [text for text in judged.texts if text])
    with Engine.open(home) as engine:
        runs = {
            key: [filled[hit.chunk.page_start - 1] for hit in engine.search(SearchRequest(text, top_k=DEPTH)).hits]
            for key, text in judged.queries.items()
        }
    return {"scifact": ndcg_at_10(judged.qrels, runs)}


def _commands(home: Path) -> Outcomes:
    """The keys of what each command prints with --json, for the tests' own home."""
    from tests.conftest import Commands
    from tests.golden import printing

    (home / "papers").mkdir()
    os.environ["RAG_CACHE_FOLDER"] = str(home / "cache")
    for name in set(ENVIRONMENT) - set(printing.ENVIRONMENT):
        del os.environ[name]
    commands = Commands(home)
    printing.fill(commands)
    return {"commands": {name: sorted(set(_keys(value))) for name, value in printing.printed(commands)}}


def _keys(value: Any, path: str = "") -> Iterator[str]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield f"{path}.{key}"
            yield from _keys(each, f"{path}.{key}")
    elif isinstance(value, list):
        for each in value:
            yield from _keys(each, path)


PARTS: dict[str, Callable[[Path], Outcomes]] = {
    "papers": partial(_questions, "papers"),
    "scifact": _scifact,
    "papers2": partial(_questions, "papers2"),
    "commands": _commands,
}
"""The longest first."""


# The table


def _show(before: Outcomes, now: Outcomes) -> list[str]:
    """Print the table and what changed; gives the names of what is broken."""
    rows, notes, broken = [], list[str](), list[str]()
    for name in [*before, *(name for name in now if name not in before)]:
        old, new = before.get(name), now.get(name)
        if old is None or new is None:
            rows.append((name, "", *("–" if each is None else "there" for each in (old, new)), ""))
            broken += [name] if new is None else []
        elif name == "scifact":
            rows.append((name, "nDCG@10", f"{old:.4f}", f"{new:.4f}", f"{new - old:+.4f}"))
            broken += [name] if new < LEAST_NDCG else []
        elif name == "commands":
            changed = {key: (set(old[key]), set(new.get(key, ()))) for key in old if old[key] != new.get(key)}
            rows.append((name, "same keys", str(len(old)), str(len(old) - len(changed)), f"{-len(changed):+d}"))
            notes += [
                f"{name} {key}: without {' '.join(sorted(was - has)) or '–'}; new {' '.join(sorted(has - was)) or '–'}"
                for key, (was, has) in changed.items()
            ]
            broken += [name] if changed else []
        elif name == "retrieval":
            same = sum(old[key] == new.get(key) for key in old)
            shared = sum(len(set(old[key]) & set(new.get(key, ()))) for key in old)
            total = sum(map(len, old.values()))
            rows.append((name, f"same lists of {len(old)}", str(len(old)), str(same), f"{same - len(old):+d}"))
            rows.append((name, "overlap@20", "1.000", f"{shared / total:.3f}", f"{shared / total - 1:+.3f}"))
        else:
            rows.append(_row(name, old, new))
            notes += _flips(name, old, new)
            worse = sum(old.values()) - sum(new.values())
            broken += [name] if (-worse if name.endswith("high") else worse) > ALLOWED else []
    head = ("set", "figure", "before", "now", "difference")
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, tuple("-" * width for width in widths), *rows):
        left = "  ".join(cell.ljust(width) for cell, width in zip(row[:2], widths[:2], strict=True))
        print(left, *(cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)), sep="  ")
    print(*notes, sep="\n")
    return broken


def _row(name: str, old: dict[str, int], new: dict[str, int]) -> tuple[str, str, str, str, str]:
    of_set, figure = name.split(" · ")
    was, has = sum(old.values()), sum(new.values())
    return f"{of_set} ({len(old)})", figure, str(was), str(has), f"{has - was:+d}"


def _flips(name: str, old: dict[str, int], new: dict[str, int]) -> list[str]:
    """A line for what is lost and won, or none."""
    lost = [key for key, value in old.items() if value and not new.get(key)]
    won = [key for key, value in new.items() if value and not old.get(key)]
    return [f"{name}: 1 → 0 {' '.join(lost) or '–'}; 0 → 1 {' '.join(won) or '–'}"] if lost or won else []


def _keep(kept: dict[str, Outcomes]) -> None:
    """Write what was found, a line a set, question or command."""
    STORED.write_text(_lines(kept, 3) + "\n", encoding="utf-8")


def _lines(value: Any, depth: int) -> str:
    """JSON with a line for each value of that depth, or less deep."""
    if depth == 0 or not isinstance(value, dict) or all(isinstance(each, int) for each in value.values()):
        return json.dumps(value, ensure_ascii=False)
    inner = ",\n".join(
        f"{json.dumps(key, ensure_ascii=False)}: {_lines(each, depth - 1)}" for key, each in value.items()
    )
    return f"{{\n{inner}\n}}"


if __name__ == "__main__":
    sys.exit(main())
