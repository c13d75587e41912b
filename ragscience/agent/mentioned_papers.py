"""Which papers of the library a text names: by file, title, short name or first author."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath

from ragscience.metadata.author_names import last_name
from ragscience.records import Paper
from ragscience.text.words import terms

__all__ = ["named_papers"]

_WORD = re.compile(r"[^\W_]+(?:[-’'][^\W_]+)*")
_IDENTIFIER = re.compile(r"\d{4}\.\d{4,5}(?:v\d+)?|(?:[a-z]+)?(?:19|20)\d\d", re.IGNORECASE)
"""In a file's name: an arXiv id, a year, or a venue with its year, which name nothing."""
_CALLED_PAPER = re.compile(
    r"\b(?:the|in|from|of)\s+((?:[\w'’-]+\s+){1,6}?)(?:paper|article|study|preprint)\b", re.IGNORECASE
)
_AFTER_AUTHOR = re.compile(
    r"\s*(?:et\s+al\b|and\s+(?:colleagues|co-?workers|others)|(?:and|&)\s+[A-Z]|['’]s?\b|,?\s*\(?(?:19|20)\d\d"
    r"|(?:paper|article|study)\b)"
)
_BEFORE_AUTHOR = re.compile(r"\b(?:by|of|from|did|do|does)\s+$", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_SHORTEST_SHORT_NAME = 3
_LEAST_TITLE_WORDS = 3
"""A title with fewer words is no name but where it is written in capitals, or called a paper."""
_PLAIN_NAME = 5
"""Letters from which a family name stands for its paper without anything around it."""


def named_papers(text: str, papers: Sequence[Paper]) -> list[Paper]:
    """The papers that `text` names, in the order in which it does; none of several that are meant equally well."""
    places = [(place, index) for index, paper in enumerate(papers) if (place := _place(text, paper)) is not None]
    found = [papers[index] for _, index in sorted(places)]
    for match in _CALLED_PAPER.finditer(text):
        found += _by_words(match.group(1), papers)
    found += _by_author(text, papers)
    return list({paper.paper_id: paper for paper in found}.values())


def _place(text: str, paper: Paper) -> int | None:
    """Where the text names the paper by its file, its title or a short name; None where it does not."""
    name = PurePath(paper.file).name
    at = text.casefold().find(name.casefold())
    if at >= 0:
        return at
    title = paper.metadata.title or paper.title
    head, colon, _ = title.partition(":")
    stem = _stem_words(name)
    phrases = [phrase for phrase in (_words(title), _words(head)) if len(phrase) >= _LEAST_TITLE_WORDS]
    if len(stem) > 1:
        phrases.append([word for word, _ in stem])
    places = [place for phrase in phrases if (place := _find(text, phrase)) is not None]
    places += [
        place
        for place in (_short_name(text, word) for word in _short_names(head if colon else "", stem, title))
        if place is not None
    ]
    return min(places, default=None)


def _stem_words(name: str) -> list[tuple[str, int]]:
    """The words of a file's name that may name the paper, folded, each with its number of letters."""
    words = re.split(r"[_\s.\-]+", _IDENTIFIER.sub(" ", PurePath(name).stem))
    return [(word.casefold(), len(word)) for word in words if word and not word.isdigit()]


def _short_names(head: str, stem: Sequence[tuple[str, int]], title: str) -> list[str]:
    """`bert` of bert_1810.04805.pdf and of "BERT: Pre-training of …", but not the first word of a title cut short."""
    names = []
    if len(_words(head)) == 1:
        names.append(_flat(head))
    slug = len(stem) > 1 and _words(title)[: len(stem)] == [word for word, _ in stem]
    if stem and stem[0][1] >= _SHORTEST_SHORT_NAME and not slug:
        names.append(_flat(stem[0][0]))
    return list(dict.fromkeys(names))


def _short_name(text: str, name: str) -> int | None:
    """Where a word of the text is this name, written as one: GPT-2, ELMo, Raft within a sentence, "the bert paper"."""
    for match in _WORD.finditer(text):
        word = re.sub(r"['’]s$", "", match.group())
        if _flat(word) != name:
            word = word.partition("-")[0]  # RAG-Sequence, ResNet-56
        if _flat(word) != name:
            continue
        before = text[: match.start()].rstrip()
        marked = any(letter.isupper() or letter.isdigit() for letter in word[1:])
        inside = word[0].isupper() and bool(before) and before[-1] not in ".?!:;"
        if marked or inside or re.match(r"\s+(?:paper|article|study)\b", text[match.end() :]):
            return match.start()
    return None


def _by_words(called: str, papers: Sequence[Paper]) -> list[Paper]:
    """The one paper all of these words are of, in its title, file name or authors."""
    wanted = set(terms(called))
    if not wanted:
        return []
    fitting = [paper for paper in papers if wanted <= _known_terms(paper)]
    return fitting if len(fitting) == 1 else []


def _known_terms(paper: Paper) -> set[str]:
    known = paper.metadata
    stem = " ".join(word for word, _ in _stem_words(PurePath(paper.file).name))
    return set(terms(" ".join([known.title, paper.title, stem, *known.authors[:1], str(known.year or "")])))


def _by_author(text: str, papers: Sequence[Paper]) -> list[Paper]:
    """Papers whose first author the text names; of several by one person those of a year that it names too."""
    found: list[tuple[int, Paper]] = []
    years = {int(year) for year in _YEAR.findall(text)}
    by_name: dict[str, list[Paper]] = {}
    for paper in papers:
        if paper.metadata.authors:
            by_name.setdefault(last_name(paper.metadata.authors[0]), []).append(paper)
    for name, theirs in by_name.items():
        place = _author_place(text, name)
        if place is None:
            continue
        of_year = [paper for paper in theirs if paper.metadata.year in years]
        chosen = of_year or theirs
        found += [(place, paper) for paper in chosen] if len(chosen) == 1 else []
    return [paper for _, paper in sorted(found, key=lambda each: each[0])]


def _author_place(text: str, name: str) -> int | None:
    if len(name) < 2:  # an initial is no family name
        return None
    for match in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text):
        before, after = text[: match.start()], text[match.end() :]
        plain = len(name) >= _PLAIN_NAME and not _other_name(before, after)
        if _AFTER_AUTHOR.match(after) or _BEFORE_AUTHOR.search(before) or plain:
            return match.start()
    return None


def _other_name(before: str, after: str) -> bool:
    """Whether a capital stands beside it, so that it may be a part of another name ("Monte Carlo Robertson")."""
    return bool(re.search(r"[A-Z][\w.-]*\s+$", before.rstrip() + " ") and before.count(" ") > 1) or bool(
        re.match(r"\s+[A-Z]", after)
    )


def _find(text: str, phrase: Sequence[str]) -> int | None:
    """Where the words of a phrase stand in the text one behind the other, case and signs aside."""
    spots = [(word, match.start()) for match in re.finditer(r"[^\W_]+", text) for word in [match.group().casefold()]]
    for first in range(len(spots) - len(phrase) + 1):
        if [word for word, _ in spots[first : first + len(phrase)]] == list(phrase):
            return spots[first][1]
    return None


def _words(text: str) -> list[str]:
    return [word.casefold() for word in re.findall(r"[^\W_]+", text)]


def _flat(word: str) -> str:
    return re.sub(r"[\W_]", "", word).casefold()
