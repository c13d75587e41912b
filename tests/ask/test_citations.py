"""Citations in every form that models give, resolved, checked and written in one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.ask.check import check
from ragscience.ask.citations import find_mentions
from tests.ask.passages import SAMPLING, TRAINING, hit
from tests.ask.span_reading import read
from tests.cpu_limit import cpu_limit

TWO_PAGES = hit(
    "Dropout of 0.1 is applied to each layer. Label smoothing was employed as well.", breaks=((0, 8), (41, 9)), rank=3
)
HITS = (TRAINING, SAMPLING, TWO_PAGES)
CLAIM = "Training took 3.5 days for the big models"


@pytest.mark.parametrize(
    "citation",
    [
        "(attention.pdf, p.7)", "(attention.pdf, p. 7)", "(attention.pdf, page 7)", "[attention.pdf, p.7]",
        "【attention.pdf, p.7】", "(Source: attention.pdf, p.7)", "(attention, p.7)", '("attention.pdf", p. 7)',
        "[1]", "[Passage 1]", "(p. 7)", "[1] (attention.pdf, p.7)", "(attention.pdf#page=7)",
        "(attention.pdf:7)", "[1, p. 7]", "【1†source】", "<passage 1>", "(attention.pdf, Section 3, p. 7)",
        "(cf. attention.pdf, p. 7)", "（attention.pdf，p.7）", "(Passage 1: attention.pdf, p.7)",
        "(the attention paper, p. 7)",
    ],
)  # fmt: skip
def test_one_form_for_all(citation):
    checked = check(f"{CLAIM} {citation}.", HITS, read=read)
    assert checked.text == f"{CLAIM} (attention.pdf, p.7)."
    assert checked.unknown == 0
    [cited] = checked.citations
    assert (cited.file, cited.page, cited.supported) == ("attention.pdf", 7, True)
    assert cited.quote == "Training took 3.5 days for the big models."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("As page 7 of attention.pdf says, it took 3.5 days.", "As (attention.pdf, p.7) says, it took 3.5 days."),
        ("It took 3.5 days, on page 7 of attention.pdf.", "It took 3.5 days, (attention.pdf, p.7)."),
        ("It used dropout (attention.pdf, pp. 8-9).", "It used dropout (attention.pdf, p.8) (attention.pdf, p.9)."),
        ("It used dropout (attention.pdf, p.8, 9).", "It used dropout (attention.pdf, p.8) (attention.pdf, p.9)."),
        (
            "It used both (attention.pdf, p.7; decoding.pdf, p.2).",
            "It used both (attention.pdf, p.7) (decoding.pdf, p.2).",
        ),
        ("Beam search and GPUs [1, 2].", "Beam search and GPUs (attention.pdf, p.7) (decoding.pdf, p.2)."),
        ("Beam search [1][2].", "Beam search (attention.pdf, p.7)(decoding.pdf, p.2)."),
        ("Beam search is used (decoding.pdf).", "Beam search is used (decoding.pdf, p.2)."),
        ("Label smoothing was employed [3].", "Label smoothing was employed (attention.pdf, p.9)."),
        ("Dropout of 0.1 is applied [3].", "Dropout of 0.1 is applied (attention.pdf, p.8)."),
    ],
)
def test_several_places_and_prose(text, shown):
    checked = check(text, HITS, read=read)
    assert checked.text == shown
    assert checked.unknown == 0


@pytest.mark.parametrize(
    ("text", "shown", "unknown"),
    [
        ("It is so (other.pdf, p.7).", "It is so.", 1),
        ("It is so (attention.pdf, p.70).", "It is so.", 1),
        ("It is so (attention.pdf, p.7-8) and so.", "It is so (attention.pdf, p.7) (attention.pdf, p.8) and so.", 0),
        ("It is so (attention.pdf, pp. 9-10).", "It is so (attention.pdf, p.9).", 1),
        ("It is so [9].", "It is so.", 1),
        ("It is so (nowhere.pdf).", "It is so.", 1),
        ("It is so [nowhere](nowhere.pdf#page=3).", "It is so.", 1),
        ("It is so [9] (other.pdf, p.3; x.pdf, p.1).", "It is so.", 3),
        (r"It is so (C:\Users\x, p. 1).", "It is so.", 1),
        ("It is so (attention.pdf, p. -3).", "It is so.", 1),
        ("It is so (page −3 of attention.pdf).", "It is so.", 1),
        ("It is so (attention.pdf, p. 123456).", "It is so.", 1),
        ("It is so (attention.pdf, page seven).", "It is so.", 1),
    ],
)
def test_what_points_at_no_passage_is_taken_out_and_counted(text, shown, unknown):
    checked = check(text, HITS, read=read)
    assert (checked.text, checked.unknown) == (shown, unknown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Beam search [[2]](http://evil.example).", "Beam search (decoding.pdf, p.2)."),
        ("Beam search [2](http://evil.example/a(b)?q=1#x).", "Beam search (decoding.pdf, p.2)."),
        ("Beam search [decoding.pdf, p. 2](https://evil.example).", "Beam search (decoding.pdf, p.2)."),
        ('Beam search [p. 2](//evil.example "decoding.pdf").', "Beam search (decoding.pdf, p.2)."),
        ("Beam search [2](attention.pdf).", "Beam search (attention.pdf, p.7)."),
        ("Beam search [here](http://evil.example).", "Beam search [here]."),
        ("Beam search [2](a).", "Beam search (decoding.pdf, p.2)(a)."),
    ],
)
def test_a_link_leads_nowhere_but_to_a_paper(text, shown):
    checked = check(text, HITS, read=read)
    assert (checked.text, checked.unknown) == (shown, 0)


PAGE_LIST = "described on pages " + ", ".join(map(str, range(1, 26))) + " and 26"


@pytest.mark.parametrize(
    "text",
    [
        PAGE_LIST,
        f"({PAGE_LIST}",
        f"It is {PAGE_LIST} of the report.",
        "p.1, " * 5_000,
        "(attention.pdf, p.1, " * 1_200,
        "(12, p.3, " + "12, p.3, " * 2_700,
        "[" + " " * 25_000 + "1",
        "[1" * 12_000,
        "[1] " * 6_000,
        "](a" * 8_000,
        "a" * 25_000 + ".pdf",
    ],
    ids=lambda text: text[:20],
)
def test_a_long_or_hostile_answer_costs_linear_time(text):
    with cpu_limit(5, text[:40]):
        find_mentions(text, [*HITS, hit("Words.", file="12.pdf", rank=4)])


def test_a_list_of_pages_of_a_paper_is_read_whole():
    checked = check(f"It is so (attention.pdf, {PAGE_LIST.removeprefix('described on ')}).", HITS, read=read)
    assert (checked.text, checked.unknown) == (
        "It is so (attention.pdf, p.7) (attention.pdf, p.8) (attention.pdf, p.9).",
        23,
    )


@pytest.mark.parametrize(
    "text",
    [
        "See (Knuth, p. 45).",
        "No citation here.",
        "A range [a, b] and f(x).",
        "In 2017 (see above).",
        "",
        "p. 7",
        "(t = 2, p = 1)",
    ],
)
def test_what_is_no_citation_stays(text):
    checked = check(text, HITS, read=read)
    assert (checked.text, checked.citations, checked.unknown) == (text, (), 0)


@pytest.mark.parametrize("name", ["smith (2017).pdf", "my paper.pdf", "2017/attention.pdf", "a+b[1].pdf", "статья.pdf"])
def test_unusual_file_names(name):
    page = hit("Training took 3.5 days.", file=name, page=4)
    checked = check(f"It took 3.5 days of training ({name}, p.4).", [page], read=read)
    assert [(c.file, c.page) for c in checked.citations] == [(name, 4)]
    assert checked.text == f"It took 3.5 days of training ({name}, p.4)."


def test_a_citation_behind_the_full_stop_belongs_to_the_sentence_before_it():
    text = "Training took 3.5 days for the big models. [1] Beam search with a beam size of 4 was used. [2]"
    checked = check(text, HITS, read=read)
    assert [(c.file, c.supported) for c in checked.citations] == [("attention.pdf", True), ("decoding.pdf", True)]


PIECES = [
    "attention.pdf", "x.pdf", ", ", "p.7", "pp. ", "8-9", "(", ")", "[", "]", "1", "12", "page ", " of ", ". ", "\n",
]  # fmt: skip
MORE = ["Training took 3.5 days", "passage ", ";", "and", " "]


@given(st.lists(st.sampled_from(PIECES + MORE), max_size=40).map("".join))
def test_whatever_a_model_writes_all_citations_are_of_given_pages(text):
    checked = check(text, HITS, read=read)
    given = {("attention.pdf", 7), ("decoding.pdf", 2), ("attention.pdf", 8), ("attention.pdf", 9)}
    assert {(c.file, c.page) for c in checked.citations} <= given


NORTH = hit("The glaze matures at 1280 degrees.", file="a/x.pdf", rank=1)
SOUTH = hit("The mean flight speed in fog was 3.7 metres per second.", file="b/x.pdf", rank=2)


@pytest.mark.parametrize("name", ["x.pdf", "X.pdf", "x"])
@pytest.mark.parametrize(
    ("claim", "file"),
    [("The glaze matures at 1280 degrees", "a/x.pdf"), ("The mean flight speed in fog was 3.7 metres", "b/x.pdf")],
)
def test_a_name_of_two_files_means_the_one_that_says_it(name, claim, file):
    page = NORTH.chunk.page_start
    checked = check(f"{claim} ({name}, p.{page}).", [NORTH, SOUTH], read=read)
    assert [citation.file for citation in checked.citations] == [file]
    assert f"({file}, p.{page})" in checked.text


def test_names_that_differ_in_case_alone_are_told_apart():
    hits = [hit("The glaze matures.", file="X.pdf", rank=1), hit("Bees fly in fog.", file="x.pdf", rank=2)]
    page = hits[0].chunk.page_start
    checked = check(f"Bees fly in fog (x.pdf, p.{page}). The glaze matures (X.pdf, p.{page}).", hits, read=read)
    assert [citation.file for citation in checked.citations] == ["x.pdf", "X.pdf"]
