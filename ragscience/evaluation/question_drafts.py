"""Questions drafted from papers, for a person to correct: what a term is, from a sentence "X is a …".

That is near to the paper's words, so a search finds it more easily than what a reader would ask.
"""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from ragscience.core.sentences import split_sentences
from ragscience.core.tokenizing import STOP_WORDS

SHORTEST_QUOTE, LONGEST_QUOTE = 40, 400
"""Characters of a sentence that a question is made from."""
MOST_WORDS = 8
"""Words of what an answer must contain: more would hardly be repeated."""

_TERM = r"(?P<article>(?:The|An?) )?(?P<term>[^\W\d_][\w’'-]*(?: \(?[\w’'-]+\)?){0,4}?)"
_DEFINED = re.compile(
    rf"^{_TERM} (?P<verb>is|are|refers to|denotes) (?:an? |the (?:task|process|problem) of )"
    r"(?P<what>[^.;:,()\[\]]{8,})"
)
_VAGUE = """
this that these those it its they there here our we he she one each some many most such what which who when where if as
in on for since although while because however then thus hence note figure table section equation algorithm appendix
following below above the a an or another both all any no not first second finally also moreover furthermore result
results author authors
"""
_NO_TERM = frozenset(_VAGUE.split())
"""Words that no term contains: a sentence with them depends on its context."""
_WHERE_IT_ENDS = re.compile(
    r"\s(?:that|which|where|whose|who|when|because|since|so|if|while|and|in which|of which|used|proposed|introduced|"
    r"consisting|based)\b"
)


@dataclass(frozen=True, slots=True)
class DraftSource:
    """A paper that questions are drafted from."""

    file: str
    prose: tuple[tuple[int, str], ...]
    """(page, text) of its paragraphs, in reading order."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A question, its answer, and the page with the answer."""

    question: str
    answer: str
    """The sentence that defines the term."""
    must_contain: str
    file: str
    page: int


def drafts(sources: Sequence[DraftSource], count: int) -> list[Draft]:
    """At most `count` drafts, all different: the papers take turns. The same sources give the same drafts."""
    made: dict[str, Draft] = {}
    waiting = deque(map(_definitions, sources))
    while waiting and len(made) < count:
        source = waiting.popleft()
        for draft in islice(source, 1):
            made.setdefault(draft.question.casefold(), draft)
            waiting.append(source)
    return list(made.values())


def as_line(draft: Draft, number: int) -> str:
    """The draft as a line of the file that `eval` reads, marked as a draft."""
    item: dict[str, Any] = {
        "id": f"draft-{number:03}",
        "question": draft.question,
        "answerable": True,
        "answer": draft.answer,
        "must_contain": [draft.must_contain],
        "evidence": [{"file": draft.file, "page": draft.page, "quote": draft.answer}],
        "type": "definition",
        "draft": True,
        "made_by": "rules",
    }
    return json.dumps(item, ensure_ascii=False).encode("utf-8", "replace").decode()


def _definitions(source: DraftSource) -> Iterator[Draft]:
    for page, sentence in _sentences(source):
        found = _DEFINED.match(sentence)
        if not found:
            continue
        article, what = (found["article"] or "").lower(), _clause(found["what"])
        words = found["term"].casefold().split()
        if not (article or found["term"][0].isupper()) or _NO_TERM.intersection(words) or len(what.split()) < 2:
            continue
        question = f"What {'are' if found['verb'] == 'are' else 'is'} {article}{found['term']}?"
        yield Draft(question, sentence, what, source.file, page)


def _sentences(source: DraftSource) -> Iterator[tuple[int, str]]:
    for page, text in source.prose:
        for span in split_sentences(text):
            sentence = " ".join(text[span.start : span.end].split())
            if span.kind == "sentence" and SHORTEST_QUOTE <= len(sentence) <= LONGEST_QUOTE:
                yield page, sentence


def _clause(what: str) -> str:
    """Its first clause, of MOST_WORDS at most."""
    clause = _WHERE_IT_ENDS.split(what)[0].strip(" -–—")
    words = clause.split()[:MOST_WORDS]
    while words and words[-1].casefold() in STOP_WORDS:
        words.pop()
    return " ".join(words)
