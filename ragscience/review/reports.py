"""What was found of a draft, for people, editors and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragscience.core import __version__
from ragscience.core.paper_records import page_label
from ragscience.core.tokenizing import some_of
from ragscience.review.draft_check import FLAGGED, VERDICTS

if TYPE_CHECKING:
    from ragscience.claims.facts import Difference
    from ragscience.review.draft_check import CheckedSentence

_LEVELS = {**dict.fromkeys(FLAGGED, "warning"), "held": "none"}
"""SARIF's; all else is a note."""
_RULES = {**VERDICTS, "suggested": "a paper of the library says so, and none is cited"}


@dataclass(frozen=True, slots=True)
class DraftReport:
    """The sentences of a draft that cite, as they were checked."""

    draft: str
    """Its path, as it was given."""
    sentences: tuple[CheckedSentence, ...]
    warnings: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many sentences have each verdict that one has, in the order of VERDICTS."""
        counted = Counter(one.verdict for one in self.sentences)
        return {verdict: counted[verdict] for verdict in _RULES if counted[verdict]}

    @property
    def is_flagged(self) -> bool:
        """Whether a paper does not hold a sentence."""
        return any(one.verdict in FLAGGED for one in self.sentences)


def message_of(sentence: CheckedSentence) -> str:
    """What is to be said of a sentence, on one line."""
    places = [page_label(one.file, one.page) for one in sentence.evidence]
    if sentence.verdict == "suggested":
        return f"says so: {some_of(places)}"
    said = [difference_line(one) for one in sentence.differences]
    if sentence.verdict == "not in the library":
        said = [some_of(sentence.cited)]
    said += [sentence.note] if sentence.note else []
    where = f" {places[0]}" if places else ""
    return f"{sentence.verdict}{': ' if said else ''}{'; '.join(said)}{where}"


def difference_line(one: Difference) -> str:
    """What differs, on one line: “4.7” is printed “3.7”."""
    if not (one.quoted or one.printed):
        return one.kind
    if one.quoted and one.printed:
        return f"{one.kind}: “{one.quoted}” is printed “{one.printed}”"
    return f"{one.kind}: “{one.quoted}” is not printed" if one.quoted else f"{one.kind}: “{one.printed}” is left out"


def place_of(sentence: CheckedSentence, draft: str) -> str:
    """Where a sentence is, for editors: `thesis/chapter.tex:12:5`."""
    return f"{_path(sentence, draft)}:{sentence.line}:{sentence.column}"


def _path(sentence: CheckedSentence, draft: str) -> str:
    return (Path(draft).parent / sentence.file).as_posix()


def as_sarif(report: DraftReport) -> dict[str, Any]:
    """The sentences that are not held, in SARIF 2.1.0, the form of diagnostics of OASIS."""
    rules = [{"id": name, "shortDescription": {"text": text}} for name, text in _RULES.items()]
    driver = {"name": "RAG Science", "version": __version__, "rules": rules}
    results = [
        {
            "ruleId": one.verdict,
            "level": _LEVELS.get(one.verdict, "note"),
            "message": {"text": message_of(one)},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": _path(one, report.draft)},
                        "region": {"startLine": one.line, "startColumn": one.column},
                    }
                }
            ],
        }
        for one in to_show(report.sentences)
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0", "runs": [run]}


def to_show(sentences: Sequence[CheckedSentence]) -> list[CheckedSentence]:
    """Those that a person should look at: all that are not held as they are cited."""
    return [one for one in sentences if one.verdict != "held" or one.note]
