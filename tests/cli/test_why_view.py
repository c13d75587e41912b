import io
import re
from dataclasses import replace

from rich.console import Console

from ragscience.cli.why_view import why_view

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
