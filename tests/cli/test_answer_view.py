import io
from dataclasses import replace

import pytest
from rich.console import Console

from ragscience.cli.answer_view import answer_footer, answer_view, verdicts_view
from ragscience.cli.paper_views import show_paper
from ragscience.core.records import Metadata, Paper
from ragscience.engine.papers import PaperOutline
from ragscience.engine.places import section_of, sources_of
from tests.cli.answers import BEES_1, BEES_2, CHECKED, SENTENCES, answer, hit


class Terminal(io.TextIOWrapper):
    def __init__(self, encoding="utf-8", tty=True):
        super().__init__(io.BytesIO(), encoding=encoding)
        self._tty = tty

    def isatty(self):
        return self._tty

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)


@pytest.fixture
def shown(monkeypatch):
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)

    def show(view, given, *, encoding="utf-8", tty=True, **more):
        stream = Terminal(encoding, tty)
        view(given, Console(file=stream, highlight=False, markup=False, emoji=False, width=200), **more)
        return stream.text()

    return show


def test_sources_are_the_cited_pages_once_each_with_their_quotes():
    sources = sources_of(CHECKED)
    assert [(item.number, item.file, item.page) for item in sources] == [
        (1, "bees.pdf", 1),
        (2, "kilns.pdf", 1),
        (3, "bees.pdf", 2),
    ]
    assert sources[0].citations == (BEES_1, BEES_1)
    assert [item.path for item in sources] == ["/papers/bees.pdf", "/papers/a b/kilns.pdf", "/papers/bees.pdf"]


def test_a_pipe_gets_plain_lines(shown):
    text = shown(answer_footer, CHECKED, tty=False)
    assert text.splitlines() == [
        "",
        "Sources:",
        "  [1] bees.pdf, p.1",
        "  [2] kilns.pdf, p.1",
        "  [3] bees.pdf, p.2",
        "",
        "~ 1 of 3 sentences supported",
        "  ~ weak: They fly (kilns.pdf, p.1).  nearest: (kilns.pdf, p.1)",
        "  ✗ unsupported: It is 9 degrees.",
    ]
    assert shown(answer_view, CHECKED, tty=False) == CHECKED.text + "\n"


def test_a_terminal_gets_links_and_colours(shown, monkeypatch):
    monkeypatch.setattr("ragscience.cli.output.os.path.lexists", lambda path: path.startswith("/papers/"))
    text = shown(answer_footer, CHECKED)
    assert "file:///papers/a%20b/kilns.pdf#page=1\x1b\\" in text
    assert text.count("file:///papers/bees.pdf#page=1") == 1
    assert "\x1b[31m  ✗ \x1b[0m\x1b[31munsupported" in text
    assert "\x1b[33m  ~ \x1b[0m\x1b[33mweak" in text
    body = shown(answer_view, CHECKED)
    assert "file:///papers/bees.pdf#page=1" in body
    assert "\x1b[31mIt is 9 degrees." in body
    assert "\x1b[33mThey fly" in body
    assert "\x1b[33mBees" not in body


def test_an_answer_that_holds_is_one_line(shown):
    given = answer(citations=[BEES_1], sentences=SENTENCES[:1])
    assert shown(answer_footer, given, tty=False) == "\nSources:\n  [1] bees.pdf, p.1\n\n✓ 1 of 1 sentence supported\n"
    nothing = answer(citations=[BEES_1], sentences=SENTENCES[3:])
    assert "✗ 0 of 1 sentence supported" in shown(verdicts_view, nothing, tty=False)
    assert shown(verdicts_view, answer(sentences=SENTENCES[1:2]), tty=False) == ""


def test_a_refusal_names_the_nearest_passages(shown):
    near, off = hit("bees.pdf", 1, "Bees\nsteer."), hit("kilns.pdf", 4, "Bees wax the kiln.")
    refusal = replace(answer(hits=[off, near], refused=True, sentences=SENTENCES), question="How do bees steer?")
    assert shown(answer_footer, refusal, tty=False) == "\nThe nearest passages:\n  [2] bees.pdf, p.1: Bees steer.\n"
    assert shown(answer_footer, replace(refusal, question="Why is the sky blue?"), tty=False) == ""
    uncited = answer(hits=[hit("bees.pdf", 1, "Bees\nsteer.")])
    title = "No citation: nothing could be checked. The passages that the model was given:"
    given = f"\n{title}\n  [1] bees.pdf, p.1: Bees steer.\n"
    assert shown(answer_footer, uncited, tty=False) == given
    assert shown(answer_footer, replace(uncited, sentences=SENTENCES[3:]), tty=False) == given
    assert shown(answer_footer, answer(), tty=False) == ""


def test_nothing_of_a_file_s_name_reaches_the_terminal_as_a_command(shown):
    evil = BEES_1.__class__("a\x1b]8;;http://evil\x07.pdf", 1, "q", True, "/p/a\x1b]8;;http://evil\x07.pdf")
    given = answer("Said (a\x1b]8;;http://evil\x07.pdf, p.1).", citations=[evil])
    text = shown(answer_footer, given) + shown(answer_view, given)
    assert "\x1b]8;;http" not in text
    assert "\x07" not in text


def paper(own="", **known):
    metadata = Metadata(**known)
    return Paper(1, "a.pdf", "/p/a.pdf", "0" * 32, 1, 1, 1, 2, own, "2026-01-01T10:00:00+00:00", metadata=metadata)


def test_what_is_not_sure_has_a_question_mark(shown):
    sure = {"title": 0.9, "authors": 0.4, "year": 0.5}
    known = paper(title="Of Glazes", authors=("Ada L.",), year=1843, doi="10.1/x", confidence=sure)
    outline = PaperOutline(known, (), "key", (), (), (), 0)
    lines = shown(show_paper, outline, tty=False, where="a.pdf").splitlines()
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
