"""Which papers a text names."""

from ragscience.paper_names import PaperNames
from ragscience.records import Paper


def paper(number, file, title):
    return Paper(number, file, f"/papers/{file}", "0" * 32, 1, 1, 1, 1, title, "2026-01-01T00:00:00Z")


NAMES = PaperNames([paper(1, "bert_1810.04805.pdf", "BERT: Deep Things"), paper(2, "other.pdf", "On Other Matters")])


def test_a_title_its_beginning_and_a_file_name_are_names():
    (found,) = NAMES.in_text("What does Bert use?")
    assert (found.paper_id, found.name, found.start, found.end) == (1, "Bert", 10, 14)
    assert [one.paper_id for one in NAMES.in_text("BERT: deep things, and On other matters")] == [1, 2]
    assert NAMES.in_text("What is a loss?") == ()
