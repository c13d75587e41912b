import io
from dataclasses import replace

from rich.console import Console

from ragscience.cli.paper_views import show_paper
from ragscience.core.records import Metadata, Paper
from ragscience.engine.papers import PaperOutline
from ragscience.engine.places import section_of, sources_of

from .answers import BEES_1, BEES_2, answer, hit


def words(view, *given, encoding="utf-8", **more):
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    view(*given, Console(file=stream, highlight=False, markup=False, emoji=False, width=200), **more)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


def paper(own="", **known):
    metadata = Metadata(**known)
    return Paper(1, "a.pdf", "/p/a.pdf", "0" * 32, 1, 1, 1, 2, own, "2026-01-01T10:00:00+00:00", metadata=metadata)


def test_what_is_not_sure_has_a_question_mark():
    sure = {"title": 0.9, "authors": 0.4, "year": 0.5}
    known = paper(title="Of Glazes", authors=("Ada L.",), year=1843, doi="10.1/x", confidence=sure)
    lines = words(show_paper, PaperOutline(known, (), "key", (), (), (), 0), where="a.pdf").splitlines()
    rows = {line.split()[0]: line.split(maxsplit=1)[-1] for line in lines}
    told = {name: rows[name] for name in ("title", "authors", "year", "DOI")}
    assert told == {"title": "Of Glazes", "authors": "Ada L. ?", "year": "1843", "DOI": "10.1/x"}
    assert "venue" not in rows


PATH = "3 Model › 3.2 Attention"


def test_a_source_stands_under_the_heading_of_the_passage_that_holds_its_quote():
    found = [
        hit("bees.pdf", 1, "Bees sleep.", section="1 Sleep"),
        hit("bees.pdf", 1, "Now: Bees steer. And so on.", start=100, section=PATH),
        hit("kilns.pdf", 1, "Bees steer.", section="9 Other"),
    ]
    (source,) = sources_of(answer(citations=[BEES_1], hits=found))
    assert section_of(answer(citations=[BEES_1], hits=found), source) == "3.2 Attention"
    by_place = replace(BEES_1, quote="Bees […] steer.", start=103, end=110)
    (source,) = sources_of(answer(citations=[by_place], hits=found))
    assert section_of(answer(citations=[by_place], hits=found), source) == "3.2 Attention"
    several = [replace(BEES_1, quote=quote) for quote in ("Bees sleep.", "And so on.", "Bees steer.")]
    (source,) = sources_of(answer(citations=several, hits=found))
    assert section_of(answer(citations=several, hits=found), source) == "1 Sleep, 3.2 Attention"
    third = hit("bees.pdf", 1, "Bees dance.", section="4 Dance")
    more = answer(citations=[*several, replace(BEES_1, quote="Bees dance.")], hits=[*found, third])
    assert section_of(more, sources_of(more)[0]) == "1 Sleep, 3.2 Attention, …"
    (source,) = sources_of(answer(citations=[BEES_2], hits=found))
    assert section_of(answer(citations=[BEES_2], hits=found), source) == ""
