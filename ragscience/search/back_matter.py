"""Puts what stands behind a paper last: thanks, funding, who did what; its words are often those of the question.

A question that asks for it gets it as it was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ragscience.core.records import StoredChunk

__all__ = ["back_matter", "lowered"]

LESS = 0.5
"""What such a passage loses of its score, 0 to 1."""
_SECTION = re.compile(
    r"(?:[\dA-Z]{1,3}\.?\s+)?(?:acknowledge?ments?|funding(?: \w+)?|(?:financial )?disclosures?|competing interests?|"
    r"(?:declarations? of |conflicts? of |competing )(?:\w+ )?interests?|"
    r"(?:description of )?author(?:s|['’´]s|s['’´])? (?:contributions?|details|information|affiliations?|roles?))",
    re.IGNORECASE,
)
_REFERENCES = re.compile(r"(?:[\dA-Z]{1,3}\.?\s+)?(?:references|bibliography)", re.IGNORECASE)
_ASKED = re.compile(
    r"\b(?:thank|acknowledg|fund|grant|sponsor|financ|pa(?:id|y)|support|author|affiliat|universit|institut|hospital|"
    r"compan|employ|correspond|e-?mail|address|conflict|interest|disclos|contribut|role|wrote|written|who)",
    re.IGNORECASE,
)


def back_matter(question: str, chunks: Iterable[StoredChunk]) -> list[int]:
    """Ids of the passages that stand behind a paper; none where the question may be after them."""
    return [] if _ASKED.search(question) else [chunk.chunk_id for chunk in chunks if _is_behind(chunk)]


def _is_behind(chunk: StoredChunk) -> bool:
    heading = chunk.section.rpartition(" › ")[2].strip()
    if chunk.kind == "footnote":  # of the authors, on the last page
        return _REFERENCES.fullmatch(heading) is not None
    return _SECTION.fullmatch(heading) is not None


def lowered(scores: Mapping[int, float], behind: Iterable[int]) -> dict[int, float]:
    """The scores by id, with those of the passages `behind` lower."""
    return {**scores, **{chunk_id: scores.get(chunk_id, 0.0) - LESS for chunk_id in behind}}
