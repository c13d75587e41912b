"""What stands behind a paper comes last, unless it is asked for."""

from dataclasses import replace

import numpy as np
import pytest

from ragscience.core.records import Filters, Profile
from ragscience.library.store import Home, Library
from ragscience.search.back_matter import back_matter
from ragscience.search.retrieval import SearchModels, search
from tests.store.making import DIMENSION, EMBEDDER, add, paper_of

DEFAULT = Profile("default", 9, 9, "weighted", 0.0, 1.0, 9, 9)
PASSAGES = [
    ("Results", "text", "Tide gauges on the northern coast were read by night."),
    ("Acknowledgments", "text", "Tide gauges: the gauges team and the tide office read this manuscript."),
    ("7 FUNDING", "text", "Tide gauges were bought by the gauges board."),
    ("Conflict of interest", "text", "None of the tide gauges belongs to the gauges office."),
    ("Authors’ contributions", "text", "The first built the tide gauges, the second read the gauges."),
    ("References", "footnote", "Tide gauges laboratory, gauges road, and the tide office of the coast."),
    (
        "Funding of the coast › Measured funding by gauges",
        "text",
        "Where tide gauges stood there was money for gauges.",
    ),
    ("Results", "footnote", "The tide gauges were the old ones of the gauges company."),
]
BEHIND = {1, 2, 3, 4, 5}


class OneDirection:
    identity = EMBEDDER

    def embed_query(self, text):
        return np.eye(1, DIMENSION, dtype=np.float32)[0]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("home"))
    vectors = np.eye(1, DIMENSION, dtype=np.float32).repeat(len(PASSAGES), axis=0)
    made = paper_of("coast.pdf", [text for _, _, text in PASSAGES], vectors)
    chunks = [
        replace(chunk, section=section, kind=kind)
        for chunk, (section, kind, _) in zip(made.chunks, PASSAGES, strict=True)
    ]
    with Library.open_for_writing(home) as library:
        add(library, replace(made, chunks=tuple(chunks)))
        library.refresh_indexes()
        yield library


def scores(library, question):
    """By ordinal, best first."""
    models = SearchModels(OneDirection())
    hits = search(question, library=library, models=models, profile=DEFAULT, filters=Filters()).hits
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    return {hit.chunk.ordinal: hit.score for hit in hits}


def test_thanks_funding_and_the_like_are_told_by_their_headings(library):
    chunks = library.paper_chunks(library.papers()[0].paper_id)
    found = back_matter("How were the tide gauges read?", chunks)
    assert {chunk.ordinal for chunk in chunks if chunk.chunk_id in found} == BEHIND


def test_it_loses_half_of_the_scale_and_nothing_else_changes(library, monkeypatch):
    question = "How were the tide gauges read?"
    found = scores(library, question)
    monkeypatch.setattr("ragscience.search.back_matter.LESS", 0.0)
    before = scores(library, question)
    assert found == pytest.approx({key: score - 0.5 * (key in BEHIND) for key, score in before.items()})
    assert list(found) != list(before)


@pytest.mark.parametrize(
    "question", ["Who read the tide gauges?", "Which laboratory are the authors at?", "What funds bought the gauges?"]
)
def test_it_stays_where_it_was_found_when_it_is_asked_for(library, question):
    assert back_matter(question, library.paper_chunks(library.papers()[0].paper_id)) == []
