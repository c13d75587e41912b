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


def test_it_is_a_paper_of_six_to_ten_pages_with_running_heads_and_page_numbers(pages):
    assert 6 <= len(pages) <= 10
    assert all(text.startswith("A Page Behind Each Sentence\n") for text in pages)
    assert [text.split()[-1] for text in pages] == [str(number) for number in range(1, len(pages) + 1)]


def test_its_text_reads_in_the_order_of_its_sections(running_text):
    headings = [
        "Abstract", "1 Introduction", "2 From a file to passages", "2.1 Reading", "2.2 Chunking", "3 The ledger",
        "4 The library on disk", "5 Searching twice", "5.1 By meaning", "5.2 By word", "5.3 Joining the two lists",
        "6 Reading the candidates again", "7 Writing the answer", "8 Two commands", "9 Models that come along",
        "10 What a reader can verify", "11 Limits", "References",
    ]  # fmt: skip
    places = [running_text.index(f" {heading} ") for heading in headings]
    assert places == sorted(places)


def test_both_columns_are_set(pages):
    with pymupdf.open(SAMPLE) as document:
        page = document[1]
        lefts = [word[0] for word in page.get_text("words")]
        middle = page.rect.width / 2
        crossing = [w[4] for w in page.get_text("words") if w[0] < middle < w[2] and 72 < w[1] < 774]
    assert crossing == []
    assert sum(left < middle for left in lefts) > 100
    assert sum(left > middle for left in lefts) > 100


def test_it_has_equations_a_figure_and_tables(running_text):
    for number in range(1, 6):
        assert f" ({number}) " in running_text
    for caption in ("Figure 1. ", "Table 1. ", "Table 2. "):
        assert caption in running_text


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
