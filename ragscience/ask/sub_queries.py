"""A question of several parts becomes the searches that find each of them, by rules alone.

Splitting only ever adds: the question itself is always searched too, so that a question which was taken apart wrongly
costs searches, not passages.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, TypeAlias

from ragscience.ask.paper_mentions import MentionedPapers, is_name, names_in, without, words
from ragscience.ask.question_splitting import PREPOSITION, cut, is_elliptic, side_by_side
from ragscience.ask.sub_question_wording import completed, set_side_by_side, worded
from ragscience.core.records import Found, Paper
from ragscience.core.tokenizing import terms

__all__ = [
    "MOST_QUERIES",
    "Home",
    "Names",
    "SubQuery",
    "home_papers",
    "more_queries",
    "not_asked",
    "placed",
    "query_of",
    "sub_queries",
]

Home: TypeAlias = Callable[[str], tuple[str, ...]]
"""Maps a name to the files of the papers that it belongs to; () if unknown."""


class Names(Protocol):
    """Which papers a text names."""

    def likely(self, text: str) -> tuple[str, ...]:
        """The files of the papers, in the order of the text."""


MOST_QUERIES = 4
"""Searches that one round of a question may cost."""
LONGEST_SPLIT = 1000
"""Characters of a question that is taken apart; a longer one is a text, not a question."""
HOME_SHARE = 1 / 3
"""What the first paper must have of the places of a search for a name, by the reciprocals of their ranks."""
NEAR_HOME = 0.6
"""Of that weight, what makes another paper a home too."""
PHRASE_WORDS = 3
"""Content words from which a missing phrase is a separate query."""

_SPEAKS_ON = re.compile(
    r"^(?:and\s+)?(?:what|which|how)\b[^,]*?\s(?:is|was|are|were|do|does|did|has|had|can) (?:it|they)\b", re.IGNORECASE
)
"""A clause about what the one before it is about, whatever else it names."""
_LEADING = re.compile(rf"^(?:{PREPOSITION}\s+)?(?:(?:the|a|an|their|its)\s+)?", re.IGNORECASE)
_WITH_ARTICLE = re.compile(r"\bthe\s+(?:[a-z]+\s+)?(?P<name>[\w-]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SubQuery:
    """A search: the question, and the files of the papers to look in; no file means the whole library."""

    text: str
    papers: tuple[str, ...] = ()
    words: str = field(default="", compare=False)
    """What is searched for: the question, within a paper without the paper's name."""

    @property
    def searched(self) -> str:
        """The words of the search."""
        return self.words or self.text


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a question, and the words of it that say what it is about."""

    text: str
    subject: str
    listed: bool
    """Whether the subject is an item of a list."""
    names: tuple[str, ...] = ()
    """Of the clause before, where this one has none: what it is about, if it is about no paper that is known."""


def sub_queries(question: str, papers: Sequence[Paper] | Names, home: Home | None = None) -> tuple[SubQuery, ...]:
    """The searches for `question`, `MOST_QUERIES` at most: itself first, then its parts, each where it belongs.

    A part is a clause ("…, and how many …"), or the question for one of the things that it sets side by side ("in X
    and in Y" with the whole question about each). A part that names one of the library's papers is searched there;
    one that names nothing, or is about "it", in the paper of the part before it. `home` returns the papers of a name
    that is in no title ("the Transformer"): it is called for the names of parts only, not for a question of one.
    """
    question = " ".join(question.split())
    if len(question) > LONGEST_SPLIT:
        return (SubQuery(question),)
    known = MentionedPapers(papers) if isinstance(papers, Sequence) else papers
    parts = _parts(question, known)
    found: list[SubQuery] = []
    before: tuple[str, ...] = ()
    for part in parts:
        speaks_on = bool(before) and not part.listed and _SPEAKS_ON.search(part.subject)
        files = before if speaks_on else known.likely(part.subject)
        name = _homeless(part, spoken_of=bool(before)) if not files and home and len(parts) > 1 else ""
        if name and home:
            files = home(name)
            found.append(_at_home(part, files, name))
        else:
            files = files or (() if part.listed else before)
            text = part.text if files else _with_names(part.text, part.names)
            found += [_inside(text, file, known) for file in files] or [SubQuery(text)]
        before = files if len(files) == 1 else before
    looked_in = {file for query in found for file in query.papers}
    found += [_inside(question, file, known) for file in known.likely(question) if file not in looked_in]
    return _different([SubQuery(question), *_spread(found)])[:MOST_QUERIES]


def placed(text: str, papers: Sequence[Paper]) -> tuple[SubQuery, ...]:
    """A query from outside, in each paper that it names; in the whole library if it names none."""
    text, known = " ".join(text.split()), MentionedPapers(papers)
    return tuple(_inside(text, file, known) for file in known.likely(text)) or (SubQuery(text),)


def more_queries(
    question: str, asked: Sequence[SubQuery], missing: Sequence[str], papers: Sequence[Paper]
) -> tuple[SubQuery, ...]:
    """What to ask next when `missing` (words, sub-questions or claims) has no passage; () when nothing is left.

    A phrase or a name is searched in the papers that it or the question names, and in all papers together with the
    question's names; a single ordinary word finds nothing new. Then come the parts of the question that exceeded the
    limit. No query is repeated.
    """
    question = " ".join(question.split())
    before = {_key(query) for query in asked}
    texts = {key for _, key in before}
    left = (query for query in sub_queries(question, papers) if _key(query)[1] not in texts)
    wanted = _different([*_missed(question, missing, MentionedPapers(papers)), *left])
    return tuple(query for query in wanted if _key(query) not in before and terms(query.text))[: MOST_QUERIES - 1]


def not_asked(wanted: Sequence[SubQuery], asked: Sequence[Mapping[str, Any]]) -> list[SubQuery]:
    """The first MOST_QUERIES of `wanted` that are new, each once; case, blanks and closing marks are ignored."""
    known = {_written(query_of(each)) for each in asked}
    new: dict[tuple[str, tuple[str, ...]], SubQuery] = {}
    for query in wanted:
        key = _written(query)
        if key[0] and key not in known:
            new.setdefault(key, query)
    return list(new.values())[:MOST_QUERIES]


def query_of(plain: Mapping[str, Any]) -> SubQuery:
    """The sub-query that a state holds."""
    return SubQuery(plain["text"], tuple(plain["papers"]), plain.get("words", ""))


def _written(query: SubQuery) -> tuple[str, tuple[str, ...]]:
    return " ".join(query.text.casefold().split()).rstrip(" ?.!") or query.text.strip(), query.papers


def home_papers(found: Found) -> tuple[str, ...]:
    """The files that a name belongs to, best first, by a search for the name alone; () if no paper is clearly ahead.

    A paper weighs the sum of 1 / rank over its passages; those near the weight of the first are homes too.
    """
    weights: defaultdict[str, float] = defaultdict(float)
    for rank, hit in enumerate(found.hits, start=1):
        weights[hit.chunk.file] += 1 / rank
    total = sum(weights.values())
    ranked = sorted(weights, key=lambda file: -weights[file])
    if not ranked or weights[ranked[0]] < HOME_SHARE * total:
        return ()
    return tuple(file for file in ranked if weights[file] >= NEAR_HOME * weights[ranked[0]])


def _parts(question: str, known: Names) -> list[_Part]:
    def differ(left: str, right: str) -> bool:
        one, other = known.likely(left), known.likely(right)
        return bool((one or names_in(left)) and (other or names_in(right)) and (not one or one != other))

    parts: list[_Part] = []
    first, *later = cut(set_side_by_side(question), differ)
    for clause in [first, *later]:
        text = clause
        if parts and is_elliptic(_unnamed(clause, known)):
            named = [word.text for word in words(first) if known.likely(word.text)] or [*names_in(first), ""]
            spoken_of = named[0]
            text = completed(first, clause, spoken_of) or f"{_unnamed(first, known)}: {clause}"
        items = side_by_side(text)
        owners = {known.likely(item) for _, item in items}
        if len(owners) > 1 or owners == {()}:
            parts += [_Part(worded(each, item), item, listed=True) for each, item in items]
        else:
            parts.append(_Part(text, clause, listed=False, names=() if names_in(clause) else names_in(first)))
    if len(parts) > 1:
        parts = [part if part.listed else replace(part, text=_worded(part)) for part in parts]
    return parts


def _worded(part: _Part) -> str:
    name = next(iter(names_in(part.subject)), "")
    return worded(part.text, name) if name else part.text


def _homeless(part: _Part, *, spoken_of: bool) -> str:
    """What to ask the home of: an item of a list; of a clause a name behind an article, or any where no paper is known.

    "the big Transformer" is a thing of its own; "what BLEU did it get" is about the paper that was spoken of.
    """
    if part.listed:
        return f"the {_LEADING.sub('', part.subject)}"
    with_article = [found["name"] for found in _WITH_ARTICLE.finditer(part.subject) if is_name(found["name"])]
    names = with_article or (() if spoken_of else names_in(part.subject))
    return f"the {' '.join(names)}" if names else ""


def _at_home(part: _Part, files: tuple[str, ...], name: str) -> SubQuery:
    """A part about a name, looked for in its papers; in a single one its name would favour what repeats it."""
    dropped = set(names_in(name)) if part.listed or _WITH_ARTICLE.search(part.subject) else set()
    inside = without(part.text, lambda word: word.bare in dropped) if len(files) == 1 else ""
    return SubQuery(part.text, files, inside if terms(inside) else "")


def _unnamed(text: str, known: Names) -> str:
    """`text` without the words that name papers."""
    return without(text, lambda word: bool(known.likely(word.text)))


def _with_names(text: str, names: Iterable[str]) -> str:
    own = {word.bare.casefold() for word in words(text)}
    missing = [name for name in dict.fromkeys(names) if name.casefold() not in own]
    return f"{', '.join(missing)}: {text}" if missing else text


def _inside(text: str, file: str, known: Names) -> SubQuery:
    """A search within one paper: its own name says nothing there, and would favour passages that repeat it."""
    inside = without(text, lambda word: file in known.likely(word.text))
    return SubQuery(text, (file,), inside if terms(inside) else "")


def _spread(queries: Sequence[SubQuery]) -> list[SubQuery]:
    """The first query of each paper before the second of any."""
    turns: defaultdict[tuple[str, ...], int] = defaultdict(int)
    turn_of = []
    for query in queries:
        turns[query.papers] += 1
        turn_of.append(turns[query.papers] if query.papers else 1)
    return [query for _, query in sorted(zip(turn_of, queries, strict=True), key=lambda pair: pair[0])]


def _key(query: SubQuery) -> tuple[tuple[str, ...], frozenset[str]]:
    """Queries of the same content words in the same papers are the same query."""
    return query.papers, frozenset(terms(query.text))


def _different(queries: Iterable[SubQuery]) -> tuple[SubQuery, ...]:
    once: dict[tuple[tuple[str, ...], frozenset[str]], SubQuery] = {}
    for query in queries:
        once.setdefault(_key(query), query)
    return tuple(once.values())


def _missed(question: str, missing: Sequence[str], known: Names) -> Iterator[SubQuery]:
    named, names = known.likely(question), names_in(question)
    for phrase in missing:
        own = known.likely(phrase)
        if sum(bool(terms(word.text)) for word in words(phrase)) < PHRASE_WORDS and (own or not names_in(phrase)):
            continue
        for file in own or named:
            yield _inside(phrase, file, known)
        yield SubQuery(_with_names(phrase, names))
