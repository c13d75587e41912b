"""What a question names: papers, people, years, a venue, an order, and the thing that is left."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from ragscience.ask.intents import frame_words
from ragscience.ask.route_records import SMALL_WORDS, Conditions, RouteContext, has_author, of_venue
from ragscience.core.records import Paper, title_of
from ragscience.core.tokenizing import STOP_WORDS, tokenize
from ragscience.search.names import NOUN

_YEAR = r"((?:19|20)\d\d)"
_YEARS = (
    (re.compile(rf"\b{_YEAR}\s?(?:and|to|until|till|through|[-–—])\s?{_YEAR}\b", re.I), lambda a, b: (a, b)),
    (re.compile(rf"\b(?:before|prior to|older than|earlier than) {_YEAR}\b", re.I), lambda a: (0, a - 1)),
    (re.compile(rf"\b(?:until|till|up to|by|not after) {_YEAR}\b", re.I), lambda a: (0, a)),
    (re.compile(rf"\b(?:after|newer than|later than|more recent than) {_YEAR}\b", re.I), lambda a: (a + 1, 9999)),
    (re.compile(rf"\bsince {_YEAR}\b|\b{_YEAR} (?:on|onwards?|or later)\b", re.I), lambda a: (a, 9999)),
    (re.compile(rf"\b{_YEAR}\b"), lambda a: (a, a)),
    (re.compile(r"\b((?:19|20)\d0)['’]?s\b"), lambda a: (a, a + 9)),
)
_DECADES = {"seventies": "1970s", "eighties": "1980s", "nineties": "1990s", "noughties": "2000s"}
_DECADE = re.compile(rf"\b(?:{'|'.join(_DECADES)})\b", re.IGNORECASE)
_ORDERS = (
    ("added", r"(?:last|recently|latest|just) added|(?:add|put|load)\w* (?:last|most recently)"),
    ("most authors", r"most authors"),
    ("shortest", r"shortest|fewest pages"),
    ("longest", r"longest|(?:most|(?:largest|highest) number of) pages|by length|sorted by pages"),
    ("oldest", r"oldest|earliest|(?:out|published|appeared|written) first|old to new"),
    ("newest", r"newest|latest|most recent(?:ly published)?|by (?:year|date)"),
)  # fmt: skip
_ORDER = tuple((name, re.compile(rf"\b(?:{words})\b", re.IGNORECASE)) for name, words in _ORDERS)
_ALL = re.compile(r"\b(?:by|sort\w*|order\w*|list)\b", re.IGNORECASE)
_NUMBERS = {"two": 2, "three": 3, "four": 4, "five": 5, "ten": 10}
COUNTS = re.compile(r"\b(?:how (?:many|big|much|large)|number of|count|size of|total)\b|\bsize$", re.IGNORECASE)
"""Whether a question asks how many."""
WORD = re.compile(r"[^\W_][\w'’.&+-]*")
_PERSON_AFTER = re.compile(r"\b(?:by|did|has|author) ((?:[A-Z][\w'’.-]+ ?){1,4})")
_QUOTED = re.compile(r"[\"“‘]([^\"“”‘’]{2,80})[\"”’]")
_JOINING = frozenset(["of", "and", "or", "for", "from", "in", "on", "to", "the", "a", "an", "with", "&"])
_DESCRIBED = re.compile(
    r"\b(?:the|that) ((?:(?!the |of )[\w'’-]+ ){1,6}?)"
    rf"(?!papers|articles|publications){NOUN}\b",
    re.IGNORECASE,
)
_POINTER = re.compile(
    rf"\b(?:its?|(?:both|(?:this|that|these|those|the)(?: two| three)?) {NOUN}|(?:this|that)(?=\W*$))\b",
    re.IGNORECASE,
)
"""What stands for a paper in focus."""
_PAPERS = re.compile(rf"(?:{NOUN}|works?|stuff|literature)[?.!,]*", re.IGNORECASE)
_LOOKED_AT = 6
"""Passages for a described paper, most of which are to be its own."""
_OF_LIBRARY, _OF_PAPERS = ("thing", "library"), ("paper", "two papers")
"""Needs of kinds of questions about the library, and about some of its papers."""
_MOST_POINTED_AT = 6
_FEWEST_INITIALS = 4
"""Of a venue's name that are its acronym in small letters: fewer are words, too."""
_BY_PERSON = re.compile(rf"(?:['’]s?)?(?: (?!papers\b)\w+)? {NOUN}\b(?<!papers)", re.IGNORECASE)
"""After a person's name that stands for a paper: "Kleinberg's paper"."""
_SURE = 0.5
"""Strength of a name from which on it is taken for a paper's."""


@dataclass(frozen=True)
class Slots:
    """A question with what it names."""

    question: str
    papers: tuple[Paper, ...]
    """In its order, each once."""
    spans: tuple[tuple[int, int], ...]
    """Of their names in the question."""
    conditions: Conditions
    implied: tuple[Paper, ...]
    """The papers that "it" or "these papers" mean where none is named: all that there are, where they are few."""
    described: str
    """The words of "the … study", where the question names no paper; else empty."""
    marks: tuple[tuple[tuple[int, int], str], ...]
    """What stands for each name in `masked`, with the name's place."""

    @property
    def masked(self) -> str:
        """The question with X1, X2 for papers, Smith for people, 2018 for years, ICML for venues."""
        made, at = "", 0
        for (start, end), mark in sorted(self.marks):
            if start >= at:
                made += self.question[at:start] + mark
                at = end
        return made + self.question[at:]

    @property
    def without_names(self) -> str:
        """The question with blanks for the names of papers."""
        return self._without(self.spans)

    def _without(self, spans: Iterable[tuple[int, int]]) -> str:
        text = self.question
        for start, end in spans:
            text = f"{text[:start]}{' ' * (end - start)}{text[end:]}"
        return text

    @property
    def order(self) -> tuple[str, int]:
        """("newest", "oldest", "longest", "shortest", "added", "most authors" or "", how many of them; 0: all)."""
        for name, words in _ORDER:
            if (found := words.search(self.question)) is not None:
                before = self.question[: found.start()].casefold().split()
                number = before[-1] if before else ""
                if _ALL.search(self.question[: found.end()]) and not number.isdigit():
                    return name, 0
                return name, int(number) if number.isdigit() else _NUMBERS.get(number, 1)
        return "", 0

    def with_described(self, context: RouteContext) -> Slots:
        """With the paper that has most of the best passages for what is described; the same where none has."""
        if not self.described:
            return self
        hits = context.search(self.described, context.filters).hits[:_LOOKED_AT]
        owners = [hit.chunk.paper_id for hit in hits]
        best = next((each for each in owners if owners.count(each) > len(owners) / 2), None)
        return replace(self, papers=tuple(paper for paper in context.papers if paper.paper_id == best))

    def with_authored(self, context: RouteContext) -> Slots:
        """With the papers by the people whom it names and who have none in it, too."""
        others = [name for name in self.conditions.authors if not any(has_author(paper, name) for paper in self.papers)]
        by_them = (paper for paper in context.papers if any(has_author(paper, name) for name in others))
        return replace(self, papers=(*self.papers, *by_them))

    @property
    def subject(self) -> str:
        """All from its first word that does not ask to the last one.

        With the word that this one belongs to: "models" may ask, and not so in "language models".
        """
        words = list(WORD.finditer(self.question))
        own = [at for at, word in enumerate(words) if not asks(word[0])]
        if not own:
            return self.thing
        begin, (last, *behind) = words[own[0]].start(), words[own[-1] : own[-1] + 2]
        for word in behind:
            is_next = word.start() == last.end() + 1 and not _PAPERS.fullmatch(word[0])
            last = word if is_next and word[0].casefold() not in STOP_WORDS else last
        return self.question[begin : last.end()].rstrip(".?!,'’")

    def read_as_name(self, words: str, context: RouteContext) -> Slots:
        """With some of its words, which follow each other, for the name of a paper, that which has most of them."""
        start = self.question.find(words)
        span = (start, start + len(words))
        own = context.names.described_by(words)
        papers = tuple(paper for paper in context.papers if paper.paper_id == own)
        return replace(self, papers=papers, described=words, spans=(span,), marks=((span, "X1"),))

    @property
    def extra(self) -> frozenset[str]:
        """Its terms besides names of papers, people and venues, words of titles, years, and the words that ask."""
        unmarked = self._without(span for span, _ in self.marks)
        words = [word for word in WORD.findall(unmarked) if word.casefold() not in STOP_WORDS]
        known = [*frame_words(_OF_PAPERS), *frame_words(_OF_LIBRARY), *map(title_of, self.papers)]
        return frozenset(tokenize(" ".join(words))) - frozenset(tokenize(" ".join(known)))

    @cached_property
    def thing(self) -> str:
        """What is asked for besides: what stands in quotation marks, else the longest run of words that do not ask."""
        if (quoted := _QUOTED.search(self.question)) is not None:
            return quoted[1]
        runs: list[list[re.Match[str]]] = [[]]
        for word in WORD.finditer(self.question):
            is_joining = bool(runs[-1]) and word[0] in _JOINING
            is_name = word.start() > 0 and word[0][:1].isupper() and len(word[0]) > 1
            is_paper = any(a < word.end() and word.start() < b for a, b in self.spans)
            if is_paper or (asks(word[0]) and not (is_joining or is_name)):
                runs.append([])
            elif runs[-1] or word[0] not in _JOINING:
                runs[-1].append(word)
        best = max((_trimmed(run) for run in runs), key=_worth, default=[])
        return self.question[best[0].start() : best[-1].end()].rstrip(".?!,'’") if best else ""


def asks(word: str) -> bool:
    """Whether the word belongs to how a question is put."""
    if any(char.isupper() for char in word[1:]) or any(char.isdigit() for char in word):
        return False
    plain = word.rstrip(".?!,'’").casefold()
    return plain in STOP_WORDS or plain in frame_words(_OF_LIBRARY)


def _trimmed(run: list[re.Match[str]]) -> list[re.Match[str]]:
    while run and run[-1][0] in _JOINING:
        run = run[:-1]
    return run


def _worth(run: list[re.Match[str]]) -> tuple[bool, int]:
    """A run with a capital or a digit first, then the longest."""
    return any(not word[0].islower() and word.start() for word in run), sum(len(word[0]) for word in run)


def slots_of(question: str, context: RouteContext, files: Sequence[str] = ()) -> Slots:
    """What `question` names; `files` are the papers in focus, meant where it names none. Raises NothingFound."""
    question = _DECADE.sub(lambda found: _DECADES[found[0].casefold()], " ".join(question.split()))
    by_id = {paper.paper_id: paper for paper in context.papers}
    places: dict[tuple[int, int], list[tuple[float, int]]] = {}
    for one in context.names.in_text(question):
        is_person = one.paper_id in by_id and has_author(by_id[one.paper_id], one.name)
        is_work = _BY_PERSON.match(question, one.end) or question[: one.start].endswith(" in ")
        if is_person and not is_work:
            continue
        if one.paper_id in by_id and one.strength >= _SURE:
            places.setdefault((one.start, one.end), []).append((one.strength, one.paper_id))
    papers: dict[int, Paper] = {}
    for _, found in sorted(places.items()):
        most = max(strength for strength, _ in found)
        papers |= {paper_id: by_id[paper_id] for strength, paper_id in found if strength == most}
    spans = tuple(sorted(places))
    if not papers:
        papers = {paper.paper_id: paper for paper in context.papers if paper.file in files}
    is_few = len(context.papers) <= min(_MOST_POINTED_AT, max(1, context.library.about.papers - 1))
    implied = context.papers if is_few and not papers else ()
    described = None if papers else _DESCRIBED.search(question)
    if described is not None and all(asks(word) or word.isdigit() for word in described[1].split()):
        described = None
    if described is not None:
        spans = ((described.start(1), described.start(1) + len(described[1].rstrip())),)
    conditions, marks = _conditions(question, spans, context.papers)
    if (implied or (files and not spans)) and (pointing := _POINTER.search(question)) is not None:
        marks.append((pointing.span(), "X1"))
    named = {span: by_id[max(found)[1]] for span, found in places.items()}
    twice = len({paper.paper_id for paper in named.values()}) < len(named)
    for number, span in enumerate(spans, 1):
        is_people = twice and has_author(named[span], question[span[0] : span[1]].partition(" ")[0])
        marks.append((span, "the authors" if is_people else f"X{number}"))
    words = described[1].strip() if described is not None else ""
    return Slots(question, tuple(papers.values()), spans, conditions, implied, words, tuple(marks))


def _conditions(
    question: str, taken: Sequence[tuple[int, int]], papers: Sequence[Paper]
) -> tuple[Conditions, list[tuple[tuple[int, int], str]]]:
    """The conditions, and where each stands with what stands for it."""
    free = [word for word in WORD.finditer(question) if not _is_taken(word.span(), taken)]
    years, marks = None, list[tuple[tuple[int, int], str]]()
    for pattern, span in _YEARS:
        found = pattern.search(question)
        if found is not None and not (_in_name(question, found, papers) or _is_taken(found.span(), taken)):
            numbers = [int(number) for number in found.groups() if number]
            years = span(*sorted(numbers))
            at = question.find(str(min(numbers)), found.start())
            marks.append(((at, at + 4 + question.startswith("s", at + 4)), "2018"))
            break
    authors, venue = list[str](), ""
    last_names = {author.rpartition(" ")[2].casefold() for paper in papers for author in paper.metadata.authors}
    venues = [[word for word in paper.metadata.venue.split() if word[0].isupper()] for paper in papers]
    acronyms = {word.casefold() for words in venues for word in words if word.isupper() and len(word) > 2}
    acronyms |= {"".join(word[0] for word in words).casefold() for words in venues if len(words) >= _FEWEST_INITIALS}
    for start, end, name in _names(question, free, last_names, acronyms):
        if any(a <= start < b for (a, b), _ in marks):
            continue
        if any(has_author(paper, name) for paper in papers):
            authors.append(name)
            marks.append(((start, end), "Smith"))
        elif not venue and not name.islower() and of_venue(papers, name):
            venue = name
            marks.append(((start, end), "ICML"))
    if not authors and not venue and (found := _PERSON_AFTER.search(question)) is not None:
        name = found[1].strip(" .?!,")
        if not _is_taken(found.span(1), taken) and not asks(name.split()[0]):
            authors.append(name)
            marks.append(((found.start(1), found.start(1) + len(name)), "Smith"))
    return Conditions(years, tuple(authors), venue), marks


def _is_taken(span: tuple[int, int], taken: Sequence[tuple[int, int]]) -> bool:
    return any(a < span[1] and span[0] < b for a, b in taken)


def _in_name(question: str, year: re.Match[str], papers: Sequence[Paper]) -> bool:
    """Whether the year belongs to the name before it, that of no author or venue: "WMT 2014"."""
    before = question[: year.start()].rstrip().rpartition(" ")
    name = before[2]
    if not before[0] or not name[:1].isupper() or not year[0][:1].isdigit():
        return False
    return not (of_venue(papers, name) or any(has_author(paper, name) for paper in papers))


def _names(
    question: str, words: Sequence[re.Match[str]], last_names: Collection[str], acronyms: Collection[str]
) -> Iterator[tuple[int, int, str]]:
    """(start, end, text) of runs of at most four words with a capital, a longer one first; none within another.

    In small letters, too, of two words where the second is a last name, and of acronyms: "jeff dean", "iclr".
    """
    for at in range(len(words)):
        for count in range(min(4, len(words) - at), 0, -1):
            run = words[at : at + count]
            text = question[run[0].start() : run[-1].end()].rstrip(".?!,").removesuffix("'s").removesuffix("’s")
            capitals = all(word[0][:1].isupper() or (word[0] in SMALL_WORDS and word is not run[0]) for word in run)
            is_typed = count == 2 and text.rpartition(" ")[2] in last_names and not (asks(run[0][0]) or asks(run[1][0]))
            is_typed |= count == 1 and text in acronyms and not asks(text)
            is_name = is_typed or (capitals and (run[0].start() or not asks(run[0][0])) and text[-1:].isalpha())
            if is_name and not any(question[a.end() : b.start()].strip() for a, b in pairwise(run)):
                shown = text.upper() if text in acronyms else text
                yield run[0].start(), run[0].start() + len(text), shown  # and its parts, which may be names, too
