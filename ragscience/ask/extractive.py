"""An answer without an LLM: what the passages say, word for word, each quote with its page."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from statistics import mean

from ragscience.ask.cells import lead_and_words, same_table
from ragscience.ask.quote_candidates import Unit, follows, joined, units_of
from ragscience.ask.unit_scores import Asked, Piece, PieceReading, features_of, pieces_of, read_pieces, score_of
from ragscience.core.errors import ModelProblem
from ragscience.core.records import Found, Hit, QuestionPart, StoredChunk
from ragscience.core.tokenizing import tokenize
from ragscience.models.model_protocols import Reader
from ragscience.search.reranking import TokenMatches

Matcher = Callable[[str, Sequence[StoredChunk]], "TokenMatches"]
"""The matches of a question in passages. Raises ModelProblem."""

_RUN_UNITS, _RUN_CHARS = 3, 400
"""Sentences that are scored together, and their length;"""
_LATER_UNITS, _LATER_CHARS = 2, 250
"""in quotes after the first."""
_FIRST_CHARS = 600
"""The first quote takes up its neighbours, the better one first, to this length."""
_LOWEST = 0.6
"""Share of the first quote's score below which nothing is quoted."""
MOST_UNITS = 8
"""That are chosen; the length limit of an answer fits about five."""
_LOOKED_AT = 80
"""Runs that may be quoted: the best ones."""
_WHOLE = re.compile(r"^(?![a-z(,;)])[^\n].*[.!?][\"”’)\]]*+(?:\^[\d,–-]++)?$", re.DOTALL)
"""A sentence that the passage does not cut, and that announces nothing."""
_SURE = 0.5
"""Probability of a span from which on it is shown as the answer."""
_ALIKE = 3.0
"""Weight of the mean cosine of a quote of one side with the best quote of the other."""
_BESIDE_CHARS = 220
"""Of the first quote, shown below the line that answers."""


@dataclass(frozen=True, slots=True)
class Readers:
    """The models that choose quotes, each optional: without them words decide. What they chose is kept."""

    matcher: Matcher | None = None
    spans: Reader | None = None
    chosen: dict[tuple[object, ...], "Choice"] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True)
class ScoredUnit:
    """A unit that was chosen, and why: for whoever judges how sure an answer is."""

    unit: Unit
    score: float
    """By which it was chosen, higher is better; comparable between questions."""
    features: Mapping[str, float]
    """As in unit_scores.py."""
    line: str = ""
    key: str = ""
    beside: str = ""
    """As of `Block`; of the best one."""
    margin: float = 0.0
    """Of the best one: by how much its score is above that of the best run elsewhere without its key."""
    part: int = 0
    """The part of the question that chose it."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The units that are quoted of what a search found."""

    units: tuple[ScoredUnit, ...]
    """The best first."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Run:
    """Pieces `first` to `last`, which follow each other."""

    first: int
    last: int
    unit: Unit
    score: float
    features: Mapping[str, float]

    @property
    def unread(self) -> float:
        """The score without what was read."""
        return score_of({**self.features, "span": 0.0})


def extract(question: str, hits: Sequence[Hit], *, readers: Readers, limit: int) -> Choice:
    """At most `limit` units that answer best, no more than MOST_UNITS."""
    key = (question, *(hit.chunk.chunk_id for hit in hits))
    choice = readers.chosen.get(key) or readers.chosen.setdefault(key, _extracted(question, hits, readers))
    return replace(choice, units=choice.units[:limit])


def _extracted(question: str, hits: Sequence[Hit], readers: Readers) -> Choice:
    """The best units.

    All runs of up to three sentences, and single rows, are scored (unit_scores.py). The best takes up its neighbours;
    later ones are shorter, and no place is quoted twice. A model that fails costs a warning.
    """
    units = [unit for hit in hits for unit in units_of(hit)]
    matches, warnings = None, list[str]()
    if readers.matcher is not None and hits:
        try:
            matches = readers.matcher(question, [hit.chunk for hit in hits])
        except ModelProblem as problem:
            warnings.append(f"Quotes are chosen by words alone, because the embedder failed: {problem}")
    asked, pieces = pieces_of(question, units, matches)
    scored = [(span, features_of(pieces[span[0] : span[1] + 1], asked)) for span in _spans(pieces)]
    order = sorted(range(len(scored)), key=lambda i: (-score_of(scored[i][1]), i))
    readings: dict[int, PieceReading] = {}
    if readers.spans is not None and order:
        try:
            plain = _without(question, matches.named if matches else ())
            readings = read_pieces(plain, pieces, [scored[i][0] for i in order], readers.spans)
        except ModelProblem as problem:
            warnings.append(f"Passages were not read for the answer, because the reader failed: {problem}")
    if readings:
        for (first, last), features in scored:
            features["span"] = max(readings[i].probability if i in readings else 0.0 for i in range(first, last + 1))
        order = sorted(range(len(scored)), key=lambda i: (-score_of(scored[i][1]), i))
    runs = [_run(pieces, *scored[i]) for i in order[:_LOOKED_AT]]
    alone = {first: score_of(features) for (first, last), features in scored if first == last}
    chosen = _chosen(pieces, runs, alone)
    scored_units = [ScoredUnit(run.unit, run.score, run.features) for run in chosen]
    if chosen:
        line, key = _line(asked, pieces, runs[0], readings)  # without what it took up
        beside = _beside(line, asked, pieces, chosen[0], readings)
        says = set(tokenize(key))
        elsewhere = (
            run.score
            for run in runs
            if not (_overlap(run.unit, chosen[0].unit) or (says and says.issubset(tokenize(run.unit.text))))
        )
        margin = runs[0].score - next(elsewhere, 0.0)
        scored_units[0] = replace(scored_units[0], line=line, key=key, beside=beside, margin=margin)
    return Choice(tuple(scored_units), tuple(warnings))


def _without(question: str, named: Sequence[tuple[int, int]]) -> str:
    """The question as it was put in the reader's training: with its mark, and without the names of papers.

    Their own sentences seldom have these: they are "they". What is a part of a word stays: "BERT-large".
    """
    for start, end in sorted(named, reverse=True):
        if not (question[end : end + 1] in ("-", "_") and question[end + 1 : end + 2].isalnum()):
            question = f"{question[:start].removesuffix('the ')}they{question[end:]}"
    return f"{question.rstrip(' ?.!')}?"


def _line(asked: Asked, pieces: Sequence[Piece], chosen: _Run, readings: Mapping[int, PieceReading]) -> tuple[str, str]:
    """`Block.line` and `Block.key` of a run: of a table the row that fits best, be it in the run or not."""
    run = pieces[chosen.first : chosen.last + 1]
    if run[0].unit.is_row:
        rows = [piece.row for piece in pieces if piece.row and same_table(piece.unit, run[0].unit)]
        told = (row for row in rows if row.line and (row.fit or row.value))
        row = max(told, key=lambda row: (row.fit, row.held), default=None)
        return (row.line, row.value) if row else ("", "")
    numbers = range(chosen.first, chosen.last + 1)
    read = max((i for i in numbers if i in readings), key=lambda i: readings[i].probability, default=None)
    if read is not None and readings[read].probability >= _SURE:
        line, answer = lead_and_words(pieces[read].unit)[1], readings[read].answer
        return line, answer if answer in line else ""
    whole = [i for i in numbers if _WHOLE.search(pieces[i].unit.text)]
    quiet = [i for i in whole or numbers if not pieces[i].noise] or whole or numbers
    return lead_and_words(pieces[max(quiet, key=_worth(asked, pieces, readings))].unit)[1], ""


def _beside(
    line: str, asked: Asked, pieces: Sequence[Piece], chosen: _Run, readings: Mapping[int, PieceReading]
) -> str:
    """`Block.beside` of a run."""
    room, kept = _BESIDE_CHARS, dict[int, str]()
    numbers = () if pieces[chosen.first].unit.is_row else range(chosen.first, chosen.last + 1)
    for number in sorted(numbers, key=_worth(asked, pieces, readings), reverse=True):
        words = lead_and_words(pieces[number].unit)[1]
        if words != line and len(words) <= room:
            kept[number] = words
            room -= len(words)
    return "".join(f"{' ' if i - 1 in kept else ' […] '}{kept[i]}" for i in sorted(kept)).removeprefix(" […] ")


def _worth(asked: Asked, pieces: Sequence[Piece], readings: Mapping[int, PieceReading]) -> Callable[[int], float]:
    """How well a piece answers by itself."""

    def worth(number: int) -> float:
        span = readings[number].probability if number in readings else 0.0
        return score_of({**features_of([pieces[number]], asked), "span": span})

    return worth


def extract_parts(found: Found, *, readers: Readers, limit: int) -> Choice:
    """As `extract`, for what `found` found.

    Where the question was searched for in parts, these choose in turn, each among its own passages; a place that was
    chosen before is passed over, unless another line of it answers, and a row of a table that was goes with it.
    """
    if not found.parts:
        return extract(found.question, found.hits, readers=readers, limit=limit)
    each = [extract(part.question, part.hits, readers=readers, limit=limit) for part in found.parts]
    if len({part.hits[0].chunk.paper_id for part in found.parts}) == len(found.parts):
        each = [_alike(part, each[i], each[i - 1], readers) for i, part in enumerate(found.parts)]
    own = [[replace(one, part=number) for one in choice.units] for number, choice in enumerate(each)]
    chosen: list[ScoredUnit] = []
    for one in chain.from_iterable(zip_longest(*own)):
        if one is not None and not any(
            _overlap(one.unit, other.unit) and one.line in ("", other.line) for other in chosen
        ):
            same = (other for other in chosen if same_table(one.unit, other.unit))
            chosen.append(replace(one, part=next(same, one).part))
    warnings = dict.fromkeys(warning for choice in each for warning in choice.warnings)
    return Choice(tuple(chosen[:limit]), tuple(warnings))


def _alike(part: QuestionPart, own: Choice, other: Choice, readers: Readers) -> Choice:
    """The units of one side of a comparison, after its first those that are like the first one of another side."""
    try:
        best = other.units[0]
        read = readers.matcher and readers.matcher(best.line or best.unit.text, [hit.chunk for hit in part.hits])
    except (IndexError, ModelProblem):
        read = None

    def worth(one: ScoredUnit) -> float:
        passage = read and read.passages.get(one.unit.hit.chunk.chunk_id)
        return one.score + _ALIKE * (mean(passage.best(one.unit.start, one.unit.end)) if passage else 0.0)

    return replace(own, units=(*own.units[:1], *sorted(own.units[1:], key=worth, reverse=True)))


def _spans(pieces: Sequence[Piece]) -> Iterator[tuple[int, int]]:
    """First and last of each run that is scored; a row is one alone, what ends in a colon never is."""
    for first, piece in enumerate(pieces):
        if not _leads_on(pieces, first):
            yield first, first
        if piece.unit.lead or piece.unit.is_row:
            continue
        for last in range(first + 1, min(first + _RUN_UNITS, len(pieces))):
            if not follows(pieces[last - 1].unit, pieces[last].unit):
                break
            if pieces[last].unit.end - piece.unit.start > _RUN_CHARS:
                break
            if not _leads_on(pieces, last):
                yield first, last


def _leads_on(pieces: Sequence[Piece], at: int) -> bool:
    """Whether a piece ends in a colon, and what it announces follows."""
    return pieces[at].unit.text.endswith(":") and at + 1 < len(pieces) and follows(pieces[at].unit, pieces[at + 1].unit)


def _run(pieces: Sequence[Piece], span: tuple[int, int], features: Mapping[str, float]) -> _Run:
    first, last = span
    run = pieces[first : last + 1]
    unit = joined(run[0].unit, run[-1].unit)
    return _Run(first, last, unit, score_of(features), features)


def _chosen(pieces: Sequence[Piece], runs: Sequence[_Run], alone: Mapping[int, float]) -> list[_Run]:
    """The runs that are quoted of `runs`, the best first; `alone` has the score of each piece by itself."""
    chosen: list[_Run] = []
    for run in runs:
        if not chosen:
            chosen.append(_grown(pieces, alone, run))
        elif len(chosen) == MOST_UNITS or run.unread < _LOWEST * chosen[0].unread:
            break
        elif _is_short(run) and not any(_overlap(run.unit, one.unit) for one in chosen):
            chosen.append(run)
    return chosen


def _is_short(run: _Run) -> bool:
    units = run.last - run.first + 1
    return units == 1 or (units <= _LATER_UNITS and run.unit.end - run.unit.start <= _LATER_CHARS)


def _grown(pieces: Sequence[Piece], alone: Mapping[int, float], run: _Run) -> _Run:
    """The run with those neighbours that are no noise, the better one first, up to `_FIRST_CHARS`; its score stays."""
    first, last = run.first, run.last
    while True:
        wider = [
            (alone.get(new, 0.0), low, high)
            for new, low, high in ((first - 1, first - 1, last), (last + 1, first, last + 1))
            if 0 <= new < len(pieces)
            and not pieces[new].noise
            and follows(pieces[min(new, last)].unit, pieces[max(new, first)].unit)
            and len(pieces[low].unit.lead) + pieces[high].unit.end - pieces[low].unit.start <= _FIRST_CHARS
        ]
        if not wider:
            return replace(_run(pieces, (first, last), run.features), score=run.score)
        _, first, last = max(wider)


def _overlap(one: Unit, other: Unit) -> bool:
    (path, start, end), (other_path, other_start, other_end) = one.place, other.place
    return path == other_path and start < other_end and other_start < end
