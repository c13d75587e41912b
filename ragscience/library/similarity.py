"""Near-duplicate papers, in other bytes or in an older version: recognised by identifier, title and text.

Texts are compared by their shingles, runs of `SHINGLE_WORDS` words, of which each paper keeps the `SKETCH_SIZE` with
the smallest hashes. Two such sketches estimate how much two texts share (A. Broder, "On the resemblance
and containment of documents", SEQUENCES 1997, sections 2 and 3).

The time grows with the number of papers, not with that of pairs: only papers that share enough of their hashes are
compared, and of what many papers share, a licence or a template, each with its next few.
"""

import hashlib
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ragscience.core.records import Metadata
from ragscience.library.dense_index import Scores

SHINGLE_WORDS = 5
SKETCH_SIZE = 256
"""Hashes kept of each paper: the resemblance has a standard deviation of about 0.03."""

_SAME_TEXT = 0.5
"""Minimum share of the shorter text that two versions of a paper have in common."""
_SAME_LENGTH = 0.4
"""A text shorter than this share of the other is a part of it, not a version."""
_OTHER_TEXT = 0.05
"""Share below which two texts are of different papers, whatever else agrees."""
_ENOUGH_SHINGLES = 100
"""Fewer shingles are a title page or a scan's few stray words, and decide nothing."""
_LEAST_SHARED = 6
"""Two sketches of the same text share at least one in so many hashes: with `_SAME_TEXT` and `_SAME_LENGTH`, of the
formula in `overlaps`."""
_COMPARED = 20
"""Of the papers that have something in common, each is compared with at most so many that follow it."""
_EXCERPT = 0.5
"""A copy with less than this share of the other's text never replaces it, whatever its version."""
_COMPLETE = 0.95
"""A copy with less than this share of the other's text is cut off where nothing says that it is another version."""
_ENOUGH_TITLE = 12
"""Minimum letters of a title that is unique to a paper."""
_BROKEN_WORD = re.compile(r"(?<=\w)-\s*\n\s*(?=\w)|\u00ad\s*")
_WORD = re.compile(r"\w+")
_ARXIV = re.compile(r"(.+?)(?:v(\d+))?")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The features by which papers are compared."""

    paper: str
    """The name for reports."""
    title: str
    """Title: letters and digits only, case ignored; empty if unknown."""
    first_author: str
    """The last word of the first author's name, normalised likewise."""
    doi: str
    arxiv_id: str
    """Without its version."""
    version: int
    """Version of the arXiv id, 0 if it has none."""
    year: int | None
    modified_ns: int
    """When the file was last changed, in nanoseconds since 1970."""
    shingles: int
    """Number of distinct shingles of the text."""
    sketch: NDArray[np.uint64] = field(compare=False)
    """The smallest 64-bit hashes of the shingles, ascending, at most `SKETCH_SIZE`."""
    is_damaged: bool = False
    """Whether the file, or one of its pages, could only be read in part."""
    empty_pages: int = 0
    """Pages without text."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """Two files that are the same paper."""

    newer: str
    """The one to keep: the complete one where the other lacks something, else the newer one."""
    older: str
    reasons: tuple[str, ...]
    """Of "identifier", "title" and "text", at least one."""
    newer_by: str
    """What decided which is newer: "completeness", "version", "year" or "file date"."""
    overlap: float
    """Estimated share of the shorter text's shingles that the other one has too, 0 to 1."""

    @property
    def same(self) -> str:
        """What shows that both are the same paper."""
        return ", ".join(f"{self.overlap:.0%} of the text" if reason == "text" else reason for reason in self.reasons)

    @property
    def why(self) -> str:
        """Why the older one may go: which paper it is, too, and what decides."""
        kept = "more complete" if self.newer_by == "completeness" else f"newer by its {self.newer_by}"
        return f"the same paper as {self.newer} ({self.same}), which is {kept}"


def fingerprint_of(paper: str, text: str, metadata: Metadata, modified_ns: int) -> Fingerprint:
    """The fingerprint of a paper with this text; time grows with the text, about 5 ms for 1,000 words."""
    words = _WORD.findall(unicodedata.normalize("NFKC", _BROKEN_WORD.sub("", text)).casefold())
    hashes = {_hash(" ".join(words[start : start + SHINGLE_WORDS])) for start in range(len(words) - SHINGLE_WORDS + 1)}
    known = _ARXIV.fullmatch(metadata.arxiv_id)
    author = metadata.authors[0].split()[-1:] if metadata.authors else []
    return Fingerprint(
        paper,
        _squashed(metadata.title),
        _squashed("".join(author)),
        metadata.doi.casefold(),
        known[1].casefold() if known else "",
        int(known[2] or 0) if known else 0,
        metadata.year,
        modified_ns,
        len(hashes),
        np.array(sorted(hashes)[:SKETCH_SIZE], np.uint64),
    )


def overlaps(papers: Sequence[Fingerprint], pairs: Sequence[tuple[int, int]]) -> Scores:
    """The overlap of each pair of indices, shape (len(pairs),), 0 to 1.

    The resemblance r of two sets is the share of the smallest hashes of their union that both have; they have
    r / (1 + r) of the sum of their sizes in common.
    """
    found = np.zeros(len(pairs))
    for at, (one, other) in enumerate((papers[first], papers[second]) for first, second in pairs):
        hashes, counts = np.unique(np.concatenate([one.sketch, other.sketch]), return_counts=True)
        resemblance = float((counts[:SKETCH_SIZE] == 2).mean()) if hashes.size else 0.0
        common = resemblance / (1 + resemblance) * (one.shingles + other.shingles)
        found[at] = min(common / max(min(one.shingles, other.shingles), 1), 1.0)
    return found


def near_duplicates(papers: Sequence[Fingerprint], among: Collection[str] | None = None) -> list[Duplicate]:
    """Each pair that is the same paper, in the order of the papers; with `among`, those with one that it names.

    Of more than `_COMPARED` papers that have something in common, not every pair is compared, but each paper is.
    """
    named = {place for place, paper in enumerate(papers) if among is None or paper.paper in among}
    pairs = sorted(_sharing_statements(papers) | _sharing_text(papers, named))
    pairs = [pair for pair in pairs if not named.isdisjoint(pair)]
    found = (
        _compared(papers[first], papers[second], float(overlap))
        for (first, second), overlap in zip(pairs, overlaps(papers, pairs), strict=True)
    )
    return [duplicate for duplicate in found if duplicate is not None]


def without_older(pairs: Iterable[Duplicate]) -> list[Duplicate]:
    """The pairs whose older paper may go: a paper goes only once, and only if the newer one of its pair stays.

    Of a chain of versions in which only neighbours are similar, more than one may stay.
    """
    pairs = list(pairs)
    newer_than = Counter(pair.older for pair in pairs)
    going: dict[str, Duplicate] = {}
    staying: set[str] = set()
    for pair in sorted(pairs, key=lambda pair: newer_than[pair.newer]):
        if pair.newer not in going and pair.older not in staying:
            going.setdefault(pair.older, pair)
            staying.add(pair.newer)
    return list(going.values())


def _sharing_statements(papers: Sequence[Fingerprint]) -> set[tuple[int, int]]:
    """Indices of papers that have an identifier or a title in common."""
    holders: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
    for place, paper in enumerate(papers):
        for name, value in (("arxiv", paper.arxiv_id), ("doi", paper.doi), ("title", paper.title)):
            if value:
                holders[name, value].append(place)
    runs = (places[at : at + 1 + _COMPARED] for places in holders.values() for at in range(len(places)))
    return {(first, second) for first, *later in runs for second in later}


def _sharing_text(papers: Sequence[Fingerprint], named: set[int]) -> set[tuple[int, int]]:
    """Indices of papers that may have the same text: they share one in `_LEAST_SHARED` of the shorter's hashes.

    Only hashes that one of the `named` has are looked at.
    """
    long = [place for place, paper in enumerate(papers) if paper.shingles >= _ENOUGH_SHINGLES]
    sizes = np.array([len(papers[place].sketch) for place in long], np.int64)
    hashes = np.concatenate([np.empty(0, np.uint64), *(papers[place].sketch for place in long)])
    owners = np.repeat(np.arange(len(long)), sizes)
    if len(named) < len(papers):
        theirs = np.isin(hashes, hashes[np.isin(owners, [at for at, place in enumerate(long) if place in named])])
        hashes, owners = hashes[theirs], owners[theirs]
    order = np.lexsort((owners, hashes))
    hashes, owners = hashes[order], owners[order]
    pairs = [np.empty(0, np.int64)]
    for step in range(1, min(_COMPARED, hashes.size - 1) + 1):
        same = np.flatnonzero(hashes[step:] == hashes[:-step])
        pairs.append(owners[same] * len(long) + owners[same + step])
    found, shared = np.unique(np.concatenate(pairs), return_counts=True)
    first, second = np.divmod(found, max(len(long), 1))
    likely = np.flatnonzero(_LEAST_SHARED * shared >= np.minimum(sizes[first], sizes[second]))
    return {(long[first[at]], long[second[at]]) for at in likely.tolist()}


def _compared(one: Fingerprint, other: Fingerprint, overlap: float) -> Duplicate | None:
    shorter, longer = sorted((one.shingles, other.shingles))
    has_text = shorter >= _ENOUGH_SHINGLES
    same_id = bool(one.arxiv_id and one.arxiv_id == other.arxiv_id) or bool(one.doi and one.doi == other.doi)
    same_title = len(one.title) >= _ENOUGH_TITLE and one.title == other.title
    same_text = has_text and overlap >= _SAME_TEXT and shorter >= _SAME_LENGTH * longer
    is_other_text = has_text and overlap < _OTHER_TEXT
    same_author = bool(one.first_author) and one.first_author == other.first_author
    reasons = []
    if same_id and (same_title or not is_other_text):
        reasons.append("identifier")
    if same_title and not is_other_text and (same_id or same_author or has_text):
        reasons.append("title")
    if same_text:
        reasons.append("text")
    if not reasons:
        return None
    newer, older, newer_by = _ordered(one, other)
    return Duplicate(newer.paper, older.paper, tuple(reasons), newer_by, round(overlap, 3))


def _ordered(one: Fingerprint, other: Fingerprint) -> tuple[Fingerprint, Fingerprint, str]:
    """The one to keep, the other one and the reason.

    Completeness first: an excerpt, a damaged file or one with empty pages in place of text never replaces a whole one.
    Then the version, or the year; where these are the same, the amount of text; last, the file's date.
    """
    shorter, longer = sorted((one, other), key=lambda paper: paper.shingles)
    if shorter.shingles < _EXCERPT * longer.shingles:
        return longer, shorter, "completeness"
    if one.is_damaged != other.is_damaged:
        return (other, one, "completeness") if one.is_damaged else (one, other, "completeness")
    is_cut = shorter.shingles < _COMPLETE * longer.shingles
    if is_cut and shorter.empty_pages > longer.empty_pages:
        return longer, shorter, "completeness"
    by, first, second = "file date", one.modified_ns, other.modified_ns
    if one.arxiv_id == other.arxiv_id and one.version and other.version and one.version != other.version:
        by, first, second = "version", one.version, other.version
    elif one.year and other.year and one.year != other.year:
        by, first, second = "year", one.year, other.year
    elif is_cut:
        return longer, shorter, "completeness"
    return (one, other, by) if first >= second else (other, one, by)


def _hash(shingle: str) -> int:
    return int.from_bytes(hashlib.blake2b(shingle.encode("utf-8", "replace"), digest_size=8).digest())


def _squashed(text: str) -> str:
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))
