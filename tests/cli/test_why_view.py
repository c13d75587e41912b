import io
import re
from dataclasses import replace

from rich.console import Console

from ragscience.cli.screen import cost_line
from ragscience.cli.why_view import why_view
from ragscience.core.records import Citation, Step

from .answers import CHECKED, answer, hit

SCORE = re.compile(r"\b\d\.\d{2,3}\b")


def shown(given, width=200, **how):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    console = Console(file=stream, highlight=False, markup=False, width=width, force_terminal=False)
    why_view(given, console, **how)
    stream.flush()
    return stream.buffer.getvalue().decode()


def scored(file, page, text, rank, **scores):
    return replace(
        hit(file, page, text, rank=rank), scores=scores, found_by=tuple(name for name in scores if name != "rerank")
    )


STEERING = (
    scored("bees.pdf", 1, "Bees steer by light in fog.", 1, dense=0.6, bm25=4.0, rerank=1.2),
    scored("kilns.pdf", 3, "Glaze in fog.", 2, dense=0.7, bm25=1.0, rerank=0.9),
    scored("tides.pdf", 5, "Nothing of it.", 3, dense=0.5, rerank=0.1),
)


def test_why_says_what_was_searched_and_who_answered():
    given = replace(
        CHECKED,
        found=replace(CHECKED.found, question="rewritten \x1b question", hits=STEERING, warnings=("left out",)),
        prompt_cut=True,
        timings_ms={"search_ms": 40.2, "llm_ms": 2340.0, "total_ms": 2380.3},
    )
    text = shown(given)
    for expected in (
        "You asked    A question?\n",
        "Searched as  rewritten ␛ question\n",
        "Searched by  meaning and words (profile default)\n",
        "Answered by  toy-llm\n",
        "cut the prompt",
        "Looked at 3 passages of 3 papers",
        "Note: left out",
        "It took 2.4 s: search 40 ms, the language model 2.3 s.",
        "  ✓ supported: Bees steer",
    ):
        assert expected in text


def test_why_says_of_each_passage_what_found_it():
    lines = shown(answer(searched="How do bees steer in fog?", hits=STEERING)).splitlines()
    after = {line.split()[1]: lines[at + 1].strip() for at, line in enumerate(lines) if line.startswith("  ")}
    assert after["bees.pdf,"] == "found by meaning and words"
    assert after["tides.pdf,"] == "found by meaning"


def test_scores_and_signals_are_shown_to_those_who_ask_for_them():
    given = replace(
        CHECKED,
        found=replace(CHECKED.found, hits=STEERING, signals={"maxsim": 0.83}),
        tokens={"prompt": 12, "answer": 3},
        timings_ms={"presence_ms": 4.0},
    )
    assert not SCORE.search(shown(given))
    assert "signals" not in shown(given)
    raw = shown(given, debug=True)
    assert "dense 0.600; bm25 4.000; rerank 1.200" in raw
    assert "signals       maxsim 0.83\n" in raw
    assert "tokens        prompt 12, answer 3\n" in raw


def test_passages_have_the_numbers_of_the_sources_that_cite_their_words():
    first = hit("a.pdf", 1, "x" * 50, start=0)
    second = hit("a.pdf", 1, "y" * 50, rank=2, start=50)
    given = answer(citations=[Citation("a.pdf", 1, "q", True, "", 60, 70)], hits=[first, second])
    rows = [line for line in shown(given).splitlines() if "a.pdf, p.1" in line]
    assert [row.split()[-1] for row in rows[:2]] == ["p.1", "[1]"]


def test_why_of_a_refusal_without_passages():
    text = shown(answer(refused=True, answerability=0.1))
    assert "It is unlikely that these passages answer it (0.10), so the answer was refused." in text
    assert "Answered by  no one: the answer was refused" in text
    assert "No passages were found." in text


def test_why_shows_the_steps_of_the_agent():
    found = Step("retrieve", 1, "7 new passages, 7 in all", "rules", searches=2)
    text = shown(answer(trace=(found,)))
    assert "Searching: 7 new passages" in text
    assert cost_line((found,)) in text
