"""The audit record of an answer: enough to see where it came from and to ask the question again.

A passage is named by the MD5 of its file and its offsets, because its id changes with a rebuild. Of its text only the
digest is kept: the library has the text.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from difflib import SequenceMatcher
from typing import Any

from ragscience.core.records import Answer, Citation, Hit, Paper, StoredChunk

SCHEMA_VERSION = 2
"""Of a record. A change that breaks a reader raises it; a new field does not."""
_CREDENTIALS = re.compile(r"(?<=://)[^\s/?#@]+(?:@[^\s/?#@]+)*@")
_URL_END = re.compile(r"[?#].*", re.DOTALL)
_IS_URL = re.compile(r"[a-z][a-z0-9+.-]*://\S+", re.IGNORECASE)
_OF_CHUNK = ("chunk_id", "file", "path", "page_start", "page_end", "section", "kind")
_OF_CITATION = ("file", "path", "page", "start", "end", "quote", "supported")


def of_answer(answer: Answer, papers: Mapping[int, Paper], warnings: Iterable[str] = ()) -> dict[str, Any]:
    """What a record says of the answer itself, as JSON; `papers` has the passages' papers by id.

    `warnings` are those of the run that are not the answer's own.
    """
    found = answer.found
    record: dict[str, Any] = plain(
        {
            "answer_id": answer.answer_id,
            "trace_id": answer.trace_id,
            "question": answer.question,
            "searched": found.question,
            "profile": found.profile,
            "passages": [_passage(hit, papers.get(hit.chunk.paper_id)) for hit in found.hits],
            "signals": found.signals,
            "second_look": found.verdict or None,
            "concepts": found.concepts,
            "paths": [asdict(path) for path in found.paths],
            "answer": answer.text,
            "mode": answer.mode,
            "route": answer.route,
            "refused": answer.refused,
            "answerability": answer.answerability,
            "prompt_cut": answer.prompt_cut,
            "citations": [_citation(item) for item in answer.citations],
            "sentences": [
                {
                    "text": item.text,
                    "verdict": item.verdict,
                    "score": item.score,
                    "evidence": _citation(item.evidence) if item.evidence else None,
                }
                for item in answer.sentences
            ],
            "timings_ms": {**found.timings_ms, **answer.timings_ms},
            "tokens": answer.tokens,
        }
    )
    said = list(dict.fromkeys([*found.warnings, *answer.warnings, *warnings]))
    return record | {
        "warnings": without_credentials(said),
        "trace": without_credentials([asdict(step) for step in answer.trace]),
    }


def place_of(chunk: StoredChunk, paper: Paper | None) -> dict[str, Any]:
    """A passage's name that survives a rebuild: its file's MD5 (empty if unknown) and its offsets."""
    return {"md5": paper.md5 if paper else "", "start": chunk.start, "end": chunk.end}


def without_credentials(value: Any) -> Any:
    """The value as `plain`, without user and password in its URLs; a text that is a URL loses its query, too."""
    if isinstance(value, str):
        bare = _CREDENTIALS.sub("", value)
        return _URL_END.sub("", bare) if _IS_URL.fullmatch(bare) else bare
    if isinstance(value, Mapping):
        return {name: without_credentials(item) for name, item in value.items()}
    return [without_credentials(item) for item in value] if isinstance(value, list | tuple) else plain(value)


def plain(value: Any) -> Any:
    """The value as JSON: None for NaN and infinity, lists for tuples."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: plain(item) for name, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def _passage(hit: Hit, paper: Paper | None) -> dict[str, Any]:
    chunk = hit.chunk
    return {
        "rank": hit.rank,
        **place_of(chunk, paper),
        **{name: getattr(chunk, name) for name in _OF_CHUNK},
        "url": without_credentials(paper.metadata.url) if paper else "",
        "text_sha256": hashlib.sha256(chunk.text.encode("utf-8", "surrogatepass")).hexdigest(),
        "score": hit.score,
        "scores": hit.scores,
        "found_by": hit.found_by,
    }


def _citation(citation: Citation) -> dict[str, Any]:
    return {name: getattr(citation, name) for name in _OF_CITATION}


SAME_SCORE = 1e-6
"""Scores that are this near are the same."""
OUTCOME = frozenset(
    {
        "passage came", "passage left", "passage moved", "passage score", "passage text", "searched", "second look",
        "answer", "mode", "refused", "verdict", "citation", "not answered",
    }
)  # fmt: skip
"""The kinds that mean that another answer was given, or from other passages. All others say why that may be."""
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs, in a line; `kind` is a stable word for it."""

    kind: str
    message: str

    @property
    def is_outcome(self) -> bool:
        """Whether it is of what was found and answered, not only of what that depends on."""
        return self.kind in OUTCOME


def compare(before: Record, after: Record) -> list[Difference]:
    """What differs in the record `after`, made now, from the one `before`; empty where nothing does.

    Times, tokens and ids are no difference.
    """
    old, new = ({_place(item): item for item in record["passages"]} for record in (before, after))
    found = [Difference("passage left", f"{_where(old[one])} is no longer found.") for one in old if one not in new]
    found += [Difference("passage came", f"{_where(new[one])} was not found before.") for one in new if one not in old]
    was, now = dict(_facts(before, old.keys() & new.keys())), dict(_facts(after, old.keys() & new.keys()))
    for key in {**was, **now}:
        (kind, what, *_), one, other = key, was.get(key), now.get(key)
        if not _same(one, other) and not (kind == "verdict" and None in (one, other)):
            said = (f"{value}" if value not in (None, "") else "nothing" for value in (one, other))
            found.append(Difference(kind, f"{what[:1].upper()}{what[1:]} was {next(said)} and is {next(said)}."))
    if before["refused"] != after["refused"]:
        found.append(Difference("refused", "It is refused now." if after["refused"] else "It was refused, and is not."))
    return [*found, *_answer(before, after)]


def _facts(record: Record, places: Collection[object]) -> Iterator[tuple[tuple[Any, ...], object]]:
    """((kind, what it is, …), value) of all that is compared but sentences; of the passages at these places."""
    library = record["library"]
    yield ("version", "the program's version"), record.get("program")
    for name, what in (("id", "id"), ("generation", "generation"), ("chunker", "chunker")):
        yield ("library", f"the library's {what}"), library.get(name)
    for part, model in record["models"].items():
        digest = f" ({model['digest'][:12]})" if model and model.get("digest") else ""
        yield ("model", part), model and f"{model.get('name')}{digest}"
    for name, value in {**record["settings"], "k": record.get("k")}.items():
        yield ("setting", name), value
    yield ("searched", "what was searched for"), record["searched"]
    yield ("second look", "the second look"), record.get("second_look")
    yield ("mode", "how it was answered"), record["mode"]
    for item in record["passages"]:
        if _place(item) in places:
            where, at = _where(item), _place(item)
            yield ("passage text", f"the text of {where}", at), item["text_sha256"][:12]
            yield ("path", f"the path of {where}", at), item["path"]
            yield ("passage moved", f"the rank of {where}", at), item["rank"]
            for name, score in {"score": item.get("score"), **item["scores"]}.items():
                yield ("passage score", f"{where}: {name}", at), score
    for item in record["sentences"]:
        yield ("verdict", f"the verdict on “{item['text']}”"), item["verdict"]
    for item in record["citations"]:
        cited = f"the citation ({item['file']}, p.{item['page']})"
        is_supported = "supported by its page" if item["supported"] else "not supported by its page"
        yield ("citation", cited, item["start"], item["end"]), is_supported


def _same(one: object, other: object) -> bool:
    """Whether two values are the same; scores, as good as the same."""
    if isinstance(one, float) and isinstance(other, int | float):
        return abs(one - other) <= SAME_SCORE
    return one == other


def _answer(before: Record, after: Record) -> Iterator[Difference]:
    """The sentences that came and went; the whole answer where it was not split into any, as a refusal is not."""
    old, new = ([item["text"] for item in each["sentences"]] or [each["answer"]] for each in (before, after))
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield from (Difference("answer", f"- {text}") for text in old[a:b])
            yield from (Difference("answer", f"+ {text}") for text in new[c:d])
    if old == new and before["answer"] != after["answer"]:
        yield Difference("answer", "Its sentences are the same, but the text between them differs.")


def _place(item: Record) -> tuple[str, int, int]:
    return item["md5"] or item["path"], item["start"], item["end"]


def _where(item: Record) -> str:
    first, last = item["page_start"], item["page_end"]
    return f"{item['file']}, p.{first}" + (f"-{last}" if last != first else "")
