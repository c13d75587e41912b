"""The paper in papers/sample/: ours, made by a script, and true to the settings it tells about."""

import re
import subprocess
import sys
from pathlib import Path

import pymupdf
import pytest

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "papers" / "sample" / "ragscience.pdf"


@pytest.fixture(scope="module")
def pages():
    with pymupdf.open(SAMPLE) as document:
        return [page.get_text() for page in document]


@pytest.fixture(scope="module")
def running_text(pages):
    return " ".join(" ".join(pages).split())


def draw(target):
    """The sample drawn anew by the script, in a process of its own."""
    command = [sys.executable, str(ROOT / "tools" / "make_sample.py"), str(target)]
    subprocess.run(command, check=True, capture_output=True, cwd=target.parent)
    return target.read_bytes()


def test_drawing_it_again_gives_the_committed_bytes(tmp_path):
    assert draw(tmp_path / "again.pdf") == SAMPLE.read_bytes()


def test_every_reference_is_cited_and_every_citation_resolves(running_text):
    body, _, references = running_text.partition(" References ")
    cited = {int(number) for group in re.findall(r"\[([\d, ]+)\]", body) for number in group.split(",")}
    listed = [int(number) for number in re.findall(r"\[(\d+)\]", references)]
    assert listed == list(range(1, len(listed) + 1))
    assert cited == set(listed)


def test_its_table_gives_the_defaults_of_the_settings(pages):
    from config import Settings

    defaults = {name: field.default for name, field in Settings.model_fields.items()}
    table = " ".join(next(text for text in pages if "Table 1." in text).split())
    for label, name, unit in [
        ("Chunk size", "chunk_size", " characters"),
        ("Chunk overlap", "chunk_overlap", " characters"),
        ("Dense candidates", "top_k_candidates", ""),
        ("Keyword candidates", "top_k_candidates", ""),
        ("Dense weight", "dense_weight", ""),
        ("BM25 weight", "bm25_weight", ""),
        ("Passages given", "answer_passages", ""),
        ("Temperature", "temperature", ""),
    ]:
        assert f"{label} {defaults[name]:g}{unit} " in table


def test_its_worked_example_is_right(pages):
    table = next(text for text in pages if "Table 2." in text).split("Table 2.")[1].split()
    start = table.index("Fused") + 1
    rows = [table[at : at + 4] for at in range(start, start + 16, 4)]
    scores = {name: (cosine, bm25) for name, cosine, bm25, _ in rows}

    def scaled(side):
        seen = {name: float(pair[side]) for name, pair in scores.items() if pair[side] != "none"}
        low, high = min(seen.values()), max(seen.values())
        return {name: (value - low) / (high - low) for name, value in seen.items()}

    dense, keyword = scaled(0), scaled(1)
    for name, *_, fused in rows:
        assert float(fused) == pytest.approx(0.7 * dense.get(name, 0) + 0.3 * keyword.get(name, 0))
