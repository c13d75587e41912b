"""A name leads to its paper, from real files to the search and a conversation."""

import pytest

from ragscience import Engine, SearchRequest
from ragscience.core.records import Turn
from ragscience.core.settings import default_settings
from ragscience.search.names import PaperNames
from tests.conftest import NOBODY
from tests.pdf_factory import make_pdf

WAVES = """Predicting Tides from Harbours

Ada Moreau, Bo Lind

Abstract
We propose the Harbour Tide Network (HTNet), a network that predicts tides.
HTNet reads the levels of the water in harbours."""
TRAINING = """HTNet has nine layers. It is small.

Training
We used the Newton optimizer with a step of 0.004 for forty days on six machines."""
RESULTS = """Results
HTNet is better than the tables of the port by nine centimetres in all of the winter months of two years.

Discussion
What HTNet cannot see are storms, which the harbours of the north know from October on, and rivers in flood.

Conclusion
HTNet is cheap. With more harbours, HTNet may serve ships on long voyages from the one coast to the other."""
SHIPS = """Ships and their Masts

Carl Young

Abstract
Ships need masts. We describe a survey of masts in ports.
Masts are not like HTNet."""
SAILS = """The optimizer used to train sails is the wind. To train a sail, an optimizer is used.
Which optimizer is used to train, and with which step, depends on the sail.
Some ships use HTNet to train their crews before they leave."""


@pytest.fixture
def engine(tmp_path):
    make_pdf(tmp_path / "papers" / "waves.pdf", [WAVES, TRAINING, RESULTS])
    make_pdf(tmp_path / "papers" / "ships.pdf", [SHIPS, SAILS])
    with Engine.open(
        tmp_path, default_settings(tmp_path, ollama_url=NOBODY, chunk_size=300, chunk_overlap=0)
    ) as engine:
        engine.ingest.add()
        yield engine


def found(engine, question, **more):
    """The first two passages."""
    return [hit.chunk.text for hit in engine.search(SearchRequest(question, **more)).hits[:2]]


def test_a_name_leads_to_the_paper_that_introduces_it(engine):
    assert engine.home.names.exists()
    names = {name.name: (name.how, name.page) for name in engine.papers.outline("waves.pdf").names}
    assert names["HTNet"] == ("introduced", 1)
    assert names["Harbour Tide Network"] == ("introduced", 1)
    assert [one.file for one in PaperNames.of(engine.library).in_text("What is HTNet?")] == ["waves.pdf"]
    assert any("Newton" in text for text in found(engine, "Which optimizer was used to train HTNet?"))


def test_a_follow_up_keeps_the_name(engine):
    history = (Turn("How many layers does HTNet have?", "Nine."),)
    assert any("Newton" in text for text in found(engine, "Which optimizer was used to train it?", history=history))


def test_a_removed_paper_takes_its_names_along(engine):
    engine.ingest.remove(["waves.pdf"])
    assert PaperNames.of(engine.library).in_text("What is HTNet?") == ()
    assert not any("Newton" in text for text in found(engine, "Which optimizer was used to train HTNet?"))
