"""What an argument of `fetch` means, and what a fetched file is called."""

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import UsageError
from ragscience.core.records import Metadata
from ragscience.sources.arxiv import ArxivId, Wanted, identify
from ragscience.sources.downloads import file_name


@pytest.mark.parametrize(
    ("said", "base", "version"),
    [
        ("1706.03762", "1706.03762", None),
        (" 1706.03762v7 ", "1706.03762", 7),
        ("arXiv:2104.12345v2", "2104.12345", 2),
        ("hep-th/9901001", "hep-th/9901001", None),
        ("math.GT/0309136", "math/0309136", None),
        ("https://arxiv.org/abs/1706.03762", "1706.03762", None),
        ("https://arxiv.org/abs/1706.03762v5?context=cs#top", "1706.03762", 5),
        ("https://arxiv.org/html/2401.00001v1/", "2401.00001", 1),
        ("10.48550/arXiv.1706.03762", "1706.03762", None),
        ("https://doi.org/10.48550/ARXIV.1706.03762", "1706.03762", None),
        ("https://dx.doi.org/10.48550%2FarXiv.1706.03762", "1706.03762", None),
    ],
)
def test_ids_are_known_in_all_their_forms(said, base, version):
    assert identify(said) == Wanted(said, arxiv=ArxivId(base, version))


ADDRESSES = [
    "https://example.org/papers/a.pdf",
    "http://example.org/1706.03762",
    "https://arxiv.org/list/cs.CL/recent",
    "https://arxiv.org/abs/nonsense",
    "https://arxiv.org.example.org/abs/1706.03762",
    "https://example.org/?x=https://arxiv.org/abs/1706.03762",
    "ftp://arxiv.org/abs/1706.03762",
    "file:///etc/passwd",
    "https://[broken/abs/1706.03762",
]
TOPICS = ["graph neural networks", "1706", "3.14159", "C++/CLI", "arxiv", "10.5 degrees", "α/β"]


def test_other_addresses_are_left_to_the_rules_of_the_network_and_all_else_is_a_topic():
    assert [identify(said) for said in ADDRESSES] == [Wanted(said, url=said) for said in ADDRESSES]
    assert [identify(said) for said in TOPICS] == [Wanted(said, topic=said) for said in TOPICS]


@pytest.mark.parametrize(
    "said", ["10.1103/PhysRevD.76.013009", "https://doi.org/10.1038/nature14539", "10.48550/other"]
)
def test_a_doi_that_is_not_arxivs_own_is_told_with_the_way_on(said):
    with pytest.raises(UsageError, match="not one of arXiv's own DOIs") as caught:
        identify(said)
    assert "--title" in caught.value.fix
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("metadata", "otherwise", "name"),
    [
        (
            Metadata("Attention Is All You Need", ("Ashish Vaswani", "Noam Shazeer"), 2017),
            "",
            "vaswani-2017-attention-is-all-you-need.pdf",
        ),
        (Metadata("Über Łódź’s maps", ("Émile Müller-Straße",), 1999), "", "muller-strasse-1999-uber-lodzs-maps.pdf"),
        (Metadata("../../etc/passwd"), "", "etc-passwd.pdf"),
        (Metadata("a\x00b‮fdp.exe", ("C. D",)), "", "d-a-b-fdp-exe.pdf"),
        (Metadata("注意力机制", ("李明",), 2020), "2001.00001v1.pdf", "2001-00001v1.pdf"),
        (Metadata("שלום"), "..", "paper.pdf"),
        (Metadata(), "My Thesis (final).PDF.pdf", "my-thesis-final.pdf"),
        (Metadata("CON"), "", "con-paper.pdf"),
        (Metadata("lpt1."), "", "lpt1-paper.pdf"),
        (Metadata("", ("Ada Lovelace",), 1843), "notes.pdf", "lovelace-1843.pdf"),
        (Metadata("A study", ("Martin Luther King Jr.",)), "", "king-a-study.pdf"),
        (Metadata("word " * 80), "", f"{'-'.join(['word'] * 12)}.pdf"),
        (Metadata("x" * 400), "", f"{'x' * 60}.pdf"),
    ],
)
def test_names_are_readable_and_safe(metadata, otherwise, name):
    assert file_name(metadata, otherwise) == name


@given(st.text(), st.lists(st.text(), max_size=2), st.none() | st.integers(1000, 2999), st.text())
def test_any_name_is_a_plain_file_name_everywhere(title, authors, year, otherwise):
    name = file_name(Metadata(title, tuple(authors), year), otherwise)
    assert re.fullmatch(r"[a-z0-9][a-z0-9-]*\.pdf", name)
    assert len(name) <= 110
    assert name.split(".")[0] not in {"con", "prn", "aux", "nul", "com1", "lpt9"}
    assert unicodedata.is_normalized("NFKC", name)
