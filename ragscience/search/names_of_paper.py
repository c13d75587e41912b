"""The names of one paper, found in its own text and metadata, each with the place that says so; and those kept."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from ragscience.core.paper_records import page_parts
from ragscience.core.records import ASKED_KINDS, Paper, StoredChunk, title_of
from ragscience.core.sentences import short_forms
from ragscience.core.tokenizing import STOP_WORDS, tokenize
from ragscience.library.store import Store
from ragscience.reading.author_names import last_name

_PART = r"(?:[A-Z][A-Za-z0-9]{0,29}+|[a-z]{1,3}+[A-Z][A-Za-z0-9]{0,29}+)"
NAME = rf"{_PART}(?:[-‐–][A-Za-z0-9]{{1,30}}+){{0,4}}+"
_NAMES = rf"(?!An? )({NAME}(?: {NAME}){{0,3}}+)"
_WE = (
    r"\b(?:[Ww]e|[Tt]his (?:paper|article|work|report|study|thesis))"
    r"(?: (?:also|then|now|first|here|have|therefore|thus)){0,2}+"
)
_VERB = r"(?:introduc|propos|present|describ|develop|design|releas|creat|build|built)(?:es|ed|e|s)?+"
_DETERMINER = r"(?: (?:the|an|a|our|new|novel|simple|two|three|both)){0,3}+"
_CALLED = (
    r"\b(?:called|named|namely|dubbed|termed|coined|[Ww]e (?:call|name|term|dub)(?: [a-z][\w-]{0,19}+){0,5}?"
    r"|refer(?:red)? to(?: [a-z][\w-]{0,19}+){0,5}? as|the name)(?: the)?+ [“\"‘']?+"
)
_OURS = (
    r"\b[Oo]ur(?: [\w-]{1,20}+){0,3}? (?:model|method|approach|system|algorithm|architecture|framework|technique|"
    r"procedure|network|tool|dataset|benchmark|implementation)s?+, (?:the |called |named )?+"
)
_DIRECT = re.compile(rf"{_WE} {_VERB}{_DETERMINER} {_NAMES}(?:, or (?:the )?+({NAME}))?+")
""" "We introduce Adam", "We propose Low-Rank Adaptation, or LoRA"."""
_NAMED = re.compile(rf"{_CALLED}{_NAMES}")
_OUR_OWN = re.compile(rf"{_OURS}{_NAMES}(?=[,.])")
_ANOTHERS = re.compile(
    r"\W{0,3}+(?:\[\d|\d|et al|(?:and|&) [A-Z][\w-]{0,30}+,? \(?\d{4}"
    r"|\(?(?:[A-Z][\w’'-]{1,30}+,? (?:et al|and|&|\(?\d{4}))"
    r"|e\.g|(?:which was |was |as )?(?:proposed|introduced|developed|presented|described|originally|by|of) "
    r"(?:by |in )?[A-Z])"
)
"""What follows the name of another's work: a citation, "proposed by …"; or a number: "Section 3"."""


def introduced(text: str) -> Iterator[tuple[str, int]]:
    """(name, start) of each name that `text`, a passage on one line, says its paper gives to something.

    A name followed by a citation is another's. Names may repeat.
    """
    for pattern in (_DIRECT, _NAMED, _OUR_OWN):
        for match in pattern.finditer(text):
            for group, name in enumerate(match.groups(), start=1):
                if name and not _ANOTHERS.match(text, match.end(group)):
                    yield name, match.start(group)


RULES_VERSION = 7
"""Increased when the same paper gets other names: kept names of another version are found again."""
AUTHORS = ("authors", "author")
"""`PaperName.how` of a family name."""
_WORD = re.compile(r"[^\W_]++")
_ACCENTS = re.compile("[\u0300-\u036f]++")
_PARTS = re.compile(r"[\s\-‐–]")


@dataclass(frozen=True, slots=True)
class PaperName:
    """A name of a paper."""

    name: str
    """As written there."""
    how: str
    """Where it is from: "title", "short title", "introduced", "acronym", "file"; "authors", or "author" of only one."""
    base: float
    """How surely it is the paper's, 0 to 1, whatever other papers call it."""
    page: int
    """The page that says so; 0 for a file's name."""
    share: float = 1.0
    """The share of the paper's passages that have it, 0 to 1."""
    indexed: tuple[int, ...] = ()
    """How many of the paper's passages each of its terms (`tokenize`) is in, as the keyword index counts them."""
    detail: tuple[str, ...] = ()
    """Of authors: the second author's family name, where there are two, or nothing; then the years."""


def words_of(text: str) -> list[str]:
    """The words of a text, case and accents aside."""
    if not text.isascii():
        text = _ACCENTS.sub("", unicodedata.normalize("NFKD", text))
    return _WORD.findall(text.casefold())


def key_of(name: str) -> str:
    """What a name is looked up by: blanks, hyphens and case aside ("GPT-2": gpt2)."""
    return "".join(words_of(name))


def is_shaped(name: str) -> bool:
    """Whether a word of a name is written as only names are: capitals after its first letter, or capital and digit."""
    return any(
        any(letter.isupper() for letter in part[1:]) or (part[:1].isupper() and any(c.isdigit() for c in part))
        for part in _PARTS.split(name)
    )


FEWEST_PASSAGES, LEAST_SHARE, LEAST_SHARE_OF_WORD = 3, 0.08, 0.15
"""A name that a paper introduces is in so many of its passages, and in this share of them; in more if it is a word."""
OFTEN = 0.25
"""The share of passages from which on an acronym of a part of the title, or a compound in it, names the paper."""
MOST_WORDS = 5
"""Of a title with an acronym in it that is short enough to be a name."""
_FEWEST_LETTERS = 2
_EARLY_PAGES = 2
_EARLY_SECTION = re.compile(r"\b(?:abstract|introduction|conclusions?|summary|contributions?)\b", re.IGNORECASE)
_COMPOUND = re.compile(r"[^\W_]++(?:-[^\W_]++)++|[^\W_]++")
_SUBTITLE = re.compile(r":\s|\s[-–—]\s|[–—]\s")
_ARTICLE = re.compile(r"^(?:the|an?)\s++", re.IGNORECASE)
_NUMBER_OF_FILE = re.compile(r"\d+|[A-Za-z]*(?:19|20)\d\d|v\d+")
"""Of a file's name: a year, an arXiv id, a version, a conference with its year."""
_SHORTEST_FILE = 3
"""Letters of a file's name of one word that names its paper."""
_ET_AL_YEAR = re.compile(r"(\d\d)(?:0[1-9]|1[0-2])\.\d{4,5}")


def names_of_paper(paper: Paper, chunks: Sequence[StoredChunk], library: Store) -> tuple[PaperName, ...]:
    """The names of a paper, whose passages are `chunks`, each once, the surest first."""
    text = _OwnText([chunk for chunk in chunks if chunk.kind not in ASKED_KINDS])
    best: dict[str, PaperName] = {}
    for name in (*_of_title(paper, text), *_introduced(paper, text), *_of_file(paper, text)):
        key = key_of(name.name)
        known = best.get(key, name)
        if len(key) >= _FEWEST_LETTERS:
            # What is said outright counts for more than a title; the first that says so is kept.
            stated = name if name.how == "introduced" != known.how else known
            best[key] = replace(stated, base=max(name.base, known.base))
    found = sorted(best.values(), key=lambda name: -name.base)
    found += _of_authors(paper, text)
    return tuple(_counted(found, [chunk.chunk_id for chunk in chunks], library))


class _OwnText:
    """The passages of a paper, searched for names."""

    def __init__(self, passages: Sequence[StoredChunk]) -> None:
        self.passages = passages
        self.lines = [" ".join(chunk.text.split("\n")) for chunk in passages]
        """Each passage on one line, at the same offsets."""
        self._folded = [f" {' '.join(words_of(line))} " for line in self.lines]

    def having(self, name: str) -> int:
        """How many passages have a name's words one after the other."""
        wanted = f" {' '.join(words_of(name))} "
        return sum(wanted in passage for passage in self._folded) if wanted.strip() else 0

    def share(self, name: str) -> float:
        """The share of the passages that have a name, or its plural."""
        having = max(self.having(name), self.having(f"{name}s"), self.having(name.removesuffix("s")))
        return having / len(self.passages) if self.passages else 0.0

    def page(self, name: str) -> int:
        """The page where a name first stands; 1 if it does not."""
        for chunk, line in zip(self.passages, self.lines, strict=True):
            at = line.casefold().find(name.casefold())
            if at >= 0 and len(line.casefold()) == len(line):
                return _page(chunk, at)
        return 1


def _page(chunk: StoredChunk, at: int) -> int:
    return next((number for number, _, _ in page_parts(chunk, at, at + 1)), chunk.page_start)


def _of_title(paper: Paper, text: _OwnText) -> Iterator[PaperName]:
    title = title_of(paper)
    if not title:
        return
    names = [(title, "title", 1.0)]
    head, *rest = _SUBTITLE.split(title, maxsplit=1)
    if rest and _SUBTITLE.sub("", rest[0]):
        names.append((head, "short title", 0.95))
        if len(rest[0].split()) > 2:
            names.append((rest[0], "short title", 0.9))
    coined = [
        word for word in _COMPOUND.findall(title) if word.count("-") > 1 or (is_shaped(word) and not word.isupper())
    ]
    names += [(word, "short title", 0.8) for word in coined if text.share(word) >= OFTEN]
    for name, how, base in names:
        bare = _ARTICLE.sub("", name.strip())
        yield PaperName(bare, how, base, text.page(bare), share=text.share(bare))


def _introduced(paper: Paper, text: _OwnText) -> Iterator[PaperName]:
    """What the abstract, the introduction or the conclusion says that the paper introduces, and acronyms of that."""
    title_terms = tokenize(title_of(paper)) or [""]
    title = set(title_terms)
    own: dict[str, PaperName] = {}
    acronyms: list[tuple[str, str, StoredChunk]] = []
    for chunk, line in zip(text.passages, text.lines, strict=True):
        is_early = chunk.kind == "abstract" or chunk.page_start <= _EARLY_PAGES
        if is_early or _EARLY_SECTION.search(chunk.section):
            for name, start in introduced(line):
                if name not in own and _is_used(name, text):
                    own[name] = PaperName(name, "introduced", 0.9, _page(chunk, start), share=text.share(name))
        acronyms += [(short, long, chunk) for short, long in short_forms(line)]
    yield from own.values()
    keys = {key_of(name) for name in own}
    for short, long, chunk in acronyms:
        content = set(tokenize(long))
        is_own = key_of(short) in keys or key_of(long) in keys
        is_of_title = content <= title and tokenize(long)[:1] == title_terms[:1]
        is_coined = set(tokenize(long)[:1]) & title and not short.removesuffix("s").isupper()
        if not is_own and (not (is_of_title or is_coined) or text.share(short) < OFTEN):
            yield from _title_with(short, long, paper, text)
            continue
        for name in (short, long):
            if _is_used(name, text) or (name == long and key_of(short) in keys):
                at, base = max(chunk.text.find(name), 0), 0.85 if is_own else 0.7
                how = "introduced" if is_own else "acronym"
                yield PaperName(name, how, base, _page(chunk, at), share=text.share(name))


def _title_with(short: str, long: str, paper: Paper, text: _OwnText) -> Iterator[PaperName]:
    """A short title with an acronym for what it stands for: "Neural ODEs"."""
    title, long = title_of(paper), long.removesuffix("s")
    at = title.casefold().find(long.casefold())
    shorter = f"{title[:at]}{short.removesuffix('s')}{title[at + len(long) :]}"
    if at >= 0 and 1 < len(shorter.split()) <= MOST_WORDS:
        yield PaperName(shorter, "acronym", 0.85, text.page(shorter), share=text.share(shorter))


def _is_used(name: str, text: _OwnText) -> bool:
    share = text.share(name)
    fewest = min(FEWEST_PASSAGES, len(text.passages)) / max(len(text.passages), 1)
    least = LEAST_SHARE if is_shaped(name) or len(words_of(name)) > 1 else LEAST_SHARE_OF_WORD
    return share >= max(fewest, least)


def _of_file(paper: Paper, text: _OwnText) -> Iterator[PaperName]:
    """The file's name without years, numbers and authors: "neural_ode_1806.07366.pdf" is "neural ode"."""
    families = {key_of(last_name(author)) for author in paper.metadata.authors}
    words = [word for word in _WORD.findall(PurePath(paper.file).stem) if not _NUMBER_OF_FILE.fullmatch(word)]
    words = [word for word in words if key_of(word) not in families] or words
    name = " ".join(words)
    if name and (len(words) > 1 or (len(name) >= _SHORTEST_FILE and name.casefold() not in STOP_WORDS)):
        yield PaperName(name, "file", 0.7, 0, share=text.share(name))


def _of_authors(paper: Paper, text: _OwnText) -> Iterator[PaperName]:
    """The first author's family name; who else and which years may stand beside it is in `detail`."""
    known = paper.metadata
    if not known.authors:
        return
    families = [last_name(author) for author in known.authors[:2]]
    years = {str(known.year)} if known.year else set()
    stamp = _ET_AL_YEAR.match(known.arxiv_id)
    if stamp:
        years.add(f"20{stamp[1]}")
    years |= {str(int(year) + 1) for year in years}  # a preprint's, when it is published
    second = families[1] if len(known.authors) == 2 else ""
    if len(families[0]) >= _FEWEST_LETTERS:
        page, how = text.page(known.authors[0]), AUTHORS[len(families) == 1]
        yield PaperName(families[0], how, 0.9, page, detail=(second, *sorted(years)))


def _counted(found: Sequence[PaperName], ids: Sequence[int], library: Store) -> Iterator[PaperName]:
    """The names with what the keyword index counts of them in their own paper."""
    terms = [tuple(dict.fromkeys(tokenize(name.name))) for name in found]
    if not any(terms):
        yield from found
        return
    holding = Counter(term for chunk in library.chunks(ids) for term in set(tokenize(chunk.searched)))
    for name, own in zip(found, terms, strict=True):
        yield replace(name, indexed=tuple(holding[term] for term in own))
