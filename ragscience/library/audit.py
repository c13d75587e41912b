"""The audit record of an answer: enough to see where it came from and to ask the question again.

A passage is named by the MD5 of its file and its offsets, because its id changes with a rebuild. Of its text only the
digest is kept: the library has the text.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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
    return [*_circumstances(before, after), *_passages(before, after), *_answer(before, after)]


def _circumstances(before: Record, after: Record) -> Iterator[Difference]:
    yield from _changed("version", "the program's version", before.get("program"), after.get("program"))
    old, new = before["library"], after["library"]
    if old.get("id") != new.get("id"):
        yield Difference("library", "The library is a different one, or was rebuilt.")
    else:
        yield from _changed("library", "the library's generation", old.get("generation"), new.get("generation"))
    yield from _changed("library", "the chunker", old.get("chunker"), new.get("chunker"))
    for part in sorted({*before["models"], *after["models"]}):
        was, now = before["models"].get(part), after["models"].get(part)
        yield from _changed("model", part, *map(_called, (was, now))) if was != now else ()
    for name in sorted({*before["settings"], *after["settings"]}):
        yield from _changed("setting", name, before["settings"].get(name), after["settings"].get(name))
    yield from _changed("setting", "k", before.get("k"), after.get("k"))


def _passages(before: Record, after: Record) -> Iterator[Difference]:
    old = {_place(item): item for item in before["passages"]}
    new = {_place(item): item for item in after["passages"]}
    for place, item in old.items():
        if place not in new:
            yield Difference("passage left", f"{_where(item)}, rank {item['rank']} before, is no longer found.")
    for place, item in new.items():
        if place not in old:
            yield Difference("passage came", f"{_where(item)} was not found before and has rank {item['rank']} now.")
            continue
        was = old[place]
        if was["text_sha256"] != item["text_sha256"]:
            yield Difference("passage text", f"{_where(item)} has another text under the same place.")
        if was["path"] != item["path"]:
            yield Difference("path", f"{_where(item)} was at {was['path']} and is at {item['path']}.")
        if was["rank"] != item["rank"]:
            yield Difference("passage moved", f"{_where(item)} had rank {was['rank']} and has {item['rank']}.")
        for name, one, other in _other_scores(was, item):
            yield Difference("passage score", f"{_where(item)}: {name} was {_number(one)} and is {_number(other)}.")


def _other_scores(was: Record, item: Record) -> Iterator[tuple[str, float | None, float | None]]:
    one, other = ({"score": each.get("score"), **each["scores"]} for each in (was, item))
    for name in {**one, **other}:
        left, right = one.get(name), other.get(name)
        if left is not right if left is None or right is None else abs(left - right) > SAME_SCORE:
            yield name, left, right


def _answer(before: Record, after: Record) -> Iterator[Difference]:
    yield from _changed("searched", "what was searched for", before["searched"], after["searched"])
    yield from _changed("second look", "the second look", before.get("second_look"), after.get("second_look"))
    yield from _changed("mode", "how it was answered", before["mode"], after["mode"])
    if before["refused"] != after["refused"]:
        yield Difference("refused", "It was refused and is answered." if before["refused"] else "It is refused now.")
    old, new = _sentences(before), _sentences(after)
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag == "equal":
            for one, other in zip(before["sentences"][a:b], after["sentences"][c:d], strict=False):
                yield from _changed("verdict", f"the verdict on “{one['text']}”", one["verdict"], other["verdict"])
            continue
        yield from (Difference("answer", f"- {text}") for text in old[a:b])
        yield from (Difference("answer", f"+ {text}") for text in new[c:d])
    if old == new and before["answer"] != after["answer"]:
        yield Difference("answer", "Its sentences are the same, but the text between them differs.")
    yield from _citations(before["citations"], after["citations"])


def _sentences(record: Record) -> list[str]:
    """The answer's sentences; the whole of it where it was not split into any, as a refusal is not."""
    return [item["text"] for item in record["sentences"]] or [record["answer"]]


def _citations(before: Sequence[Record], after: Sequence[Record]) -> Iterator[Difference]:
    old, new = ({_cited(item): item["supported"] for item in each} for each in (before, after))
    for place in {**old, **new}:
        was, now = old.get(place), new.get(place)
        if now is None:
            message = "is no longer cited"
        elif was is None:
            message = "is cited now"
        else:
            message = "is now supported by its page" if now else "is no longer supported by its page"
        if was != now:
            yield Difference("citation", f"({place[0]}, p.{place[1]}) {message}.")


def _cited(item: Record) -> tuple[str, int, int, int]:
    return item["file"], item["page"], item["start"], item["end"]


def _place(item: Record) -> tuple[str, int, int]:
    return item["md5"] or item["path"], item["start"], item["end"]


def _where(item: Record) -> str:
    first, last = item["page_start"], item["page_end"]
    return f"{item['file']}, p.{first}" + (f"-{last}" if last != first else "")


def _called(model: Record | None) -> str | None:
    if model is None:
        return None
    digest = model.get("digest")
    return f"{model.get('name')} ({digest[:12]})" if digest else str(model.get("name"))


def _number(score: float | None) -> str:
    return "none" if score is None else f"{score:.7g}"


def _changed(kind: str, what: str, before: object, after: object) -> Iterator[Difference]:
    if before != after:
        was, now = (f"{value}" if value not in (None, "") else "nothing" for value in (before, after))
        yield Difference(kind, f"{what[:1].upper()}{what[1:]} was {was} and is {now}.")
