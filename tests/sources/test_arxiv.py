"""arXiv's API: what is asked of it, and what is made of its answers."""

import pytest

from ragscience.core.errors import UsageError
from ragscience.sources.arxiv import Arxiv, ArxivId, Search, parse_feed, search_query

from .arxiv_feed import ArxivServer, FeedPaper, feed

URL = "https://export.example.org/api/query"


def arxiv_of(server):
    """The API without a network: the server's answers as they would come over one."""
    return Arxiv(URL, lambda url: server.answer(url).body)


@pytest.mark.parametrize(
    ("search", "query"),
    [
        (Search("graph learning"), 'all:"graph learning"'),
        (Search("x", author="Ada Lovelace", title="on bees"), 'all:"x" AND au:"Ada Lovelace" AND ti:"on bees"'),
        (Search("x", category="cs.CL"), 'all:"x" AND cat:cs.CL'),
        (Search(category="hep-th"), "cat:hep-th"),
        (Search(since="2023", until="2023"), "submittedDate:[202301010000 TO 202312312359]"),
        (Search(since="2024-02"), "submittedDate:[202402010000 TO 299912312359]"),
        (Search(until="2024-02"), "submittedDate:[199101010000 TO 202402292359]"),
        (Search(since="2020-12-31"), "submittedDate:[202012310000 TO 299912312359]"),
        (Search('a" OR all:"b\\\n\x00c'), 'all:"a OR all: b c"'),
    ],
)
def test_a_search_becomes_a_query(search, query):
    assert search_query(search) == query


@pytest.mark.parametrize(
    "search",
    [
        Search(), Search('""'), Search("x" * 501), Search("x", category='cs.CL OR all:"y"'),
        Search("x", since="yesterday"), Search("x", since="2023-02-30"), Search("x", until="2023-13"),
        Search("x", since="٢٠٢٣-٠١-٩٩"), Search("x", since="2024", until="2023"),
    ],
)  # fmt: skip
def test_a_search_that_makes_no_sense_is_refused(search):
    with pytest.raises(UsageError):
        search_query(search)


def test_an_entry_becomes_a_paper():
    paper = FeedPaper(
        id="1706.03762v7",
        title="Attention\n  Is All <You> & Need",
        doi="10.1000/x.1 10.1000/x.2",
        journal_ref="Proc. of Bees 3 (2018)",
        comment="12 pages",
        categories=("cs.CL", "cs.LG", "68T50", "I.2.7; I.2.6"),
    )
    (found,) = parse_feed(feed([paper], 1)).candidates
    metadata = found.metadata
    assert found.arxiv == ArxivId("1706.03762", 7)
    assert (metadata.title, metadata.authors) == ("Attention Is All <You> & Need", ("Ada Lovelace", "Émile Borel"))
    assert (metadata.year, metadata.published, metadata.venue) == (2021, "2021-01-04", "Proc. of Bees 3 (2018)")
    assert (metadata.doi, metadata.arxiv_id, metadata.categories) == ("10.1000/x.1", "1706.03762v7", ("cs.CL", "cs.LG"))
    assert metadata.abstract == "Bees fly in fog. They fly slower."
    assert (found.comment, found.is_withdrawn) == ("12 pages", False)


@pytest.mark.parametrize(
    ("comment", "summary", "withdrawn"),
    [
        ("Withdrawn by the authors", "Bees.", True),
        ("", "This paper has been withdrawn due to an error.", True),
        ("", "The drug was withdrawn from the market.", False),
    ],
)
def test_a_withdrawn_paper_is_told(comment, summary, withdrawn):
    (found,) = parse_feed(feed([FeedPaper(comment=comment, summary=summary)])).candidates
    assert found.is_withdrawn is withdrawn


def test_papers_are_asked_for_by_id_and_their_pdfs_are_beside_the_api():
    server = ArxivServer([FeedPaper("1706.03762v7"), FeedPaper("hep-th/9901001v2")])
    wanted = [ArxivId("hep-th/9901001"), ArxivId("1706.03762", 7), ArxivId("1706.03762", 3), ArxivId("2101.99999")]
    found = arxiv_of(server).papers(wanted)
    assert {str(one): str(paper.arxiv) for one, paper in found.items()} == {
        "hep-th/9901001": "hep-th/9901001v2",
        "1706.03762v7": "1706.03762v7",
    }
    assert found[wanted[0]].url == "https://export.example.org/pdf/hep-th/9901001v2"
    assert [one["id_list"] for one in server.asked] == ["hep-th/9901001,1706.03762v7,1706.03762v3,2101.99999"]


def test_one_id_that_is_nonsense_to_the_api_does_not_cost_the_others():
    server = ArxivServer([FeedPaper("2101.00001v1"), FeedPaper("2101.00002v1")], nonsense={"9999.99999"})
    found = arxiv_of(server).papers([ArxivId("2101.00001"), ArxivId("9999.99999"), ArxivId("2101.00002")])
    assert sorted(one.base for one in found) == ["2101.00001", "2101.00002"]
    assert len(server.asked) == 4
