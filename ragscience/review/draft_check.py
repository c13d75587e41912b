"""Holds each sentence of a draft against the papers of the library that it cites, with the check of answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING

from ragscience.claims.evidence import EvidenceIndex, PageSpan, Place
from ragscience.claims.facts import Difference
from ragscience.claims.support import SUPPORT_THRESHOLD, Claim, Judge, strength
from ragscience.core.paper_records import place_label
from ragscience.core.records import ASKED_KINDS, Citation, Hit
from ragscience.core.tokenizing import joined_lines
from ragscience.graph.citing import KnownWorks
from ragscience.review.drafts import Cited, Draft, DraftSentence
from ragscience.search.names import LEAST_SURE, PaperNames
from ragscience.sources.bib_entries import citation_keys

if TYPE_CHECKING:
    from ragscience.core.records import Paper
    from ragscience.library.store import Store
    from ragscience.models.model_protocols import Reader

VERDICTS = {
    "held": "the paper says so",
    "partly": "the paper has another number, name or denial",
    "not held": "no page of the paper speaks of it",
    "unclear": "a page speaks of it in other words: read it",
    "not in the library": "the paper that is cited is not in the library",
    "not checkable": "there is nothing to check",
}
"""What each verdict means."""
FLAGGED = ("partly", "not held")
_OPEN = ("partly", "unclear")
_RANK = {verdict: rank for rank, verdict in enumerate(("not held", "partly", "unclear", "held"))}
_SHOWN = 3
"""Pages that are shown for a sentence that is not held."""
_PAPERS_KEPT = 64
_SUGGESTED, _LOOKED_AT = 3, 20
_LEAST_TERMS = 4
"""Content words of a sentence without citation that states a finding."""
_NAME = re.compile(r"[A-Z][\w’-]+")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class CheckedSentence:
    """A sentence of a draft, or a part of one, and what the papers hold of it."""

    file: str
    line: int
    column: int
    text: str
    verdict: str
    """One of VERDICTS; of a sentence that cites nothing, "suggested"."""
    cited: tuple[str, ...]
    """What it cites, as it is written."""
    evidence: tuple[Citation, ...] = ()
    """The passage that holds it, or the nearest; of a suggestion one for each paper."""
    differences: tuple[Difference, ...] = ()
    note: str = ""
    """What else is to be known, as that another page than the one cited holds it."""


@dataclass(frozen=True, slots=True)
class _Finding:
    """What a paper holds of a sentence."""

    verdict: str = ""
    share: float = 0.0
    """Of its terms, as far as the best lines hold them."""
    evidence: tuple[Citation, ...] = ()
    differences: tuple[Difference, ...] = ()
    note: str = ""
    near: tuple[str, ...] = ()
    """The nearest lines with those beside them, for a second opinion."""


Opinion = Callable[[str, Sequence[str]], str]
"""What a language model says, in a line, of whether passages say what a sentence says; empty where it says nothing."""


class DraftChecker:
    """Checks drafts against a library.

    `read` reads numbers; without it none is found held in other words. `opinion` is asked of each sentence that is
    unclear or partly held, of the best of the papers that it cites; it changes no verdict.
    """

    def __init__(self, library: Store, read: Reader | None, opinion: Opinion | None = None) -> None:
        self._library, self._read, self._opinion = library, read, opinion
        self._papers = {paper.paper_id: paper for paper in library.papers()}
        self._judge_of = lru_cache(_PAPERS_KEPT)(self._judge)
        keys = citation_keys([*self._papers.values()])
        self._by_key = {PurePath(paper.file).stem: one for one, paper in self._papers.items()}
        self._by_key |= {key: paper_id for paper_id, key in keys.items()}
        self._named = lru_cache(1000)(lambda text: self._names.in_text(text))
        self.warnings: dict[str, None] = {}

    @cached_property
    def _works(self) -> KnownWorks:
        return KnownWorks([paper for paper in self._papers.values() if not paper.metadata.part])

    @cached_property
    def _names(self) -> PaperNames:
        return PaperNames.of(self._library)

    def check(
        self, draft: Draft, *, suggest: bool = False, on_sentence: Callable[[], None] = lambda: None
    ) -> Iterator[CheckedSentence]:
        """Each sentence that cites, in order; with `suggest` also each that states what a paper holds and cites none.

        `on_sentence` is called before each, and may raise.
        """
        for sentence in draft.sentences:
            on_sentence()
            if sentence.cited:
                yield self._checked(sentence, draft)
            elif suggest and (found := self._suggested(sentence)):
                yield self._of(sentence, "suggested", _Finding(evidence=tuple(found)))

    def _checked(self, sentence: DraftSentence, draft: Draft) -> CheckedSentence:
        if not sentence.is_claim or not (claim := Claim(sentence.text)).terms:
            return self._of(sentence, "not checkable")
        wanted = [(paper_id, one.page) for one in sentence.cited for paper_id in self._papers_of(one, draft)]
        known = [(self._papers[paper_id], page) for paper_id, page in dict.fromkeys(wanted)]
        if not known:
            return self._of(sentence, "not in the library")
        found = [self._finding(claim.text, paper, page) for paper, page in known if self._judge_of(paper.paper_id)]
        if not found:
            return self._of(sentence, "not checkable", _Finding(note="The paper has no text in the library."))
        best = max(found, key=lambda one: (_RANK[one.verdict], one.share))
        if self._opinion is not None and best.verdict in _OPEN:
            best = replace(best, note=self._opinion(claim.text, best.near))
        return self._of(sentence, "", best)

    def _of(self, sentence: DraftSentence, verdict: str, found: _Finding | None = None) -> CheckedSentence:
        found = found or _Finding()
        cited = tuple(dict.fromkeys(one.name for one in sentence.cited))
        where = sentence.file, sentence.line, sentence.column
        what = verdict or found.verdict
        return CheckedSentence(*where, sentence.text, what, cited, found.evidence, found.differences, found.note)

    def _judge(self, paper_id: int) -> tuple[Judge, list[Place]] | None:
        """The check of a paper, and its pages; None where it has no text."""
        chunks = [chunk for chunk in self._library.paper_chunks(paper_id) if chunk.kind not in ASKED_KINDS]
        index = EvidenceIndex([Hit(rank, chunk, 0.0, {}, ()) for rank, chunk in enumerate(chunks, start=1)])
        return (Judge(index, self._read), [*index.by_place]) if index.by_place else None

    def _finding(self, text: str, paper: Paper, page: int) -> _Finding:
        """What the page that is cited holds, else the best of the paper."""
        names = [text[one.start : one.end] for one in self._named(text) if one.paper_id == paper.paper_id]
        authors = [author.rpartition(" ")[2] for author in paper.metadata.authors]
        claim = Claim(text, own=" ".join([*names, *authors]))
        judge, places = self._judge_of(paper.paper_id) or (None, [])
        assert judge is not None  # noqa: S101 - the caller has looked
        nearest = judge.nearest(claim, places)
        own = [place for place in places if place[1] == page]
        found = judge.judge(claim, own) if own else None
        if found is None or found.verdict != "supported":
            best = judge.judge(claim, judge.best_place(claim, dict.fromkeys(span.place for span, _ in nearest)))
            found = best if found is None else max(found, best, key=strength)
        self.warnings |= dict.fromkeys(judge.warnings)
        lines = [unit for _, unit in nearest]
        differences = () if found.verbatim else tuple(dict.fromkeys(judge.doubts(claim, lines, places)))
        share = max(found.score, judge.share_beside(claim, lines))
        if found.verdict == "supported" and not differences:
            verdict = "held"
        elif share < SUPPORT_THRESHOLD:
            verdict = "not held"
        else:
            verdict = "partly" if differences else "unclear"
        cited_first = sorted(nearest, key=lambda one: one[0].place[1] != page)
        spans = [(span, unit.start, unit.end) for span, unit in cited_first]
        if found.best and verdict == "held":
            spans.insert(0, (found.best.span, found.best.start, found.best.end))
        by_page = {span.place[1]: (span, start, end) for span, start, end in reversed(spans)}
        pages = list(dict.fromkeys(span.place[1] for span, _, _ in spans))[: 1 if verdict == "held" else _SHOWN]
        evidence = tuple(self._citation(paper, by_page[one], held=verdict == "held") for one in pages)
        note = f"It is on {place_label(paper.file, pages[0])}." if verdict == "held" and page not in (0, *pages) else ""
        near = tuple(joined_lines(unit.around.text) for _, unit in nearest[:_SHOWN])
        return _Finding(verdict, share, evidence, differences, note, near)

    def _citation(self, paper: Paper, place: tuple[PageSpan, int, int], *, held: bool) -> Citation:
        span, first, last = place
        start, end, page = span.start + first, span.start + last, span.place[1]
        boxes = self._library.contents(paper.paper_id).boxes(page, start, end)
        words = joined_lines(span.text[first:last])
        return Citation(paper.file, page, words, held, paper.path, start, end, boxes, md5=paper.md5)

    def _suggested(self, sentence: DraftSentence) -> list[Citation]:
        """The passages that hold a sentence without citation, a paper each, the best first."""
        claim = Claim(sentence.text)
        if not sentence.is_claim or len(claim.terms) < _LEAST_TERMS:
            return []
        ids, _ = self._library.keywords.search(sentence.text, _LOOKED_AT, None)
        near = dict.fromkeys(chunk.paper_id for chunk in self._library.chunks(ids.tolist()))
        found = [self._finding(claim.text, self._papers[one], 0) for one in [*near][:_SUGGESTED] if self._judge_of(one)]
        held = sorted((one for one in found if one.verdict == "held"), key=lambda one: -one.share)
        return [one.evidence[0] for one in held]

    # Which papers a citation means

    def _papers_of(self, cited: Cited, draft: Draft) -> Sequence[int]:
        if cited.kind == "file":
            name = cited.name.rpartition("/")[2].casefold()
            return [one for one, paper in self._papers.items() if paper.file.rpartition("/")[2].casefold() == name]
        if cited.kind == "author":
            return self._listed(cited.name, draft) or [
                one.paper_id for one in self._named(cited.name) if one.strength >= LEAST_SURE and _YEAR.search(one.name)
            ]
        if cited.kind == "key" and cited.name in self._by_key:
            return [self._by_key[cited.name]]
        return self._entry(draft.references.get(cited.name, ""))

    def _entry(self, text: str) -> list[int]:
        paper = self._works.named(text) if text else None
        return [paper.paper_id] if paper else []

    def _listed(self, name: str, draft: Draft) -> list[int]:
        """The paper by these authors in the draft's own list of references."""
        year, authors = _YEAR.search(name), [one.casefold() for one in _NAME.findall(name)]
        fitting = (
            text
            for text in draft.references.values()
            if year and year[0] in text and all(author in text.casefold() for author in authors)
        )
        return next(filter(None, map(self._entry, fitting)), [])
