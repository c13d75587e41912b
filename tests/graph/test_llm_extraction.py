"""Extraction by an LLM, over real HTTP: what a passage does not name is not kept, whatever the model says."""

import json

from hypothesis import given
from hypothesis import strategies as st

from ragscience.graph.extraction import ask_for
from ragscience.graph.graph_records import ENTITY_TYPES, LONGEST_NAME, RELATION_TYPES, EntityMention, Triple
from tests.ask.asking import open_llm
from tests.graph.passages import passage

TEXT = "FogNet uses a multi-\nhead encoder. FogNets beat the GRU on SkyView data. It was made in Dover."
MODEL = "llama3.1:8b"


def reply(entities=(), relations=()):
    return json.dumps(
        {
            "entities": [{"name": name, "type": kind} for name, kind in entities],
            "relations": [{"source": a, "relation": relation, "target": b} for a, relation, b in relations],
        }
    )


def test_what_the_passage_names_is_kept_as_it_stands_there(server):
    server.script(
        reply(
            [("fognet", "method"), ("Multi-Head Encoder", "METHOD"), ("SkyView", "data set"), ("GRU", "METHOD")],
            [
                ("FogNet", "uses", "multi-head encoder"),
                ("fognet", "IMPROVES", "GRU"),
                ("FogNet", "evaluated on", "skyview"),
            ],
        )
    )  # fmt: skip
    with open_llm(server.url, num_ctx=8192, num_predict=1000) as llm:
        asked = ask_for(
            llm, [passage(TEXT, 1, ordinal=1)], "Seeing in fog", ENTITY_TYPES, max_tokens=20_000, seconds=30.0
        )
    (found,) = asked.value
    assert not asked.failure
    assert found.mentions == (
        EntityMention("SkyView", "DATASET", 1, 0.7),
        EntityMention("FogNet", "METHOD", 2, 0.7),
        EntityMention("GRU", "METHOD", 1, 0.7),
        EntityMention("Multi-Head Encoder", "METHOD", 1, 0.7),
    )
    assert found.triples == (
        Triple("FogNet", "METHOD", "EVALUATED_ON", "SkyView", "DATASET", 0.7),
        Triple("FogNet", "METHOD", "IMPROVES", "GRU", "METHOD", 0.7),
        Triple("FogNet", "METHOD", "USES", "Multi-Head Encoder", "METHOD", 0.7),
    )


class Saying:
    """A model that says this, always."""

    name = "parrot"

    def __init__(self, said):
        self.said = said

    def reply(self, messages, *, max_tokens, schema=None):
        return Reply(self.said)


class Reply:
    prompt_tokens = answer_tokens = None

    def __init__(self, said):
        self.said = said

    def __iter__(self):
        yield self.said


WORDS = st.sampled_from(
    ("FogNet", "fognets", "GRU", "gru s", "Multi-head encoder", "Rain", "SkyView", "", "(", ".*", "\x00é", 7)
)
TOLD = st.fixed_dictionaries(
    {},
    optional={
        "entities": st.lists(
            st.fixed_dictionaries({}, optional={"name": WORDS, "type": st.sampled_from((*ENTITY_TYPES, "CITY", None))})
            | st.integers(),
            max_size=8,
        ),
        "relations": st.lists(
            st.fixed_dictionaries(
                {}, optional={"source": WORDS, "relation": st.sampled_from((*RELATION_TYPES, "IS")), "target": WORDS}
            ),
            max_size=8,
        ),
    },
)


@given(TOLD.map(json.dumps) | st.text(max_size=80))
def test_whatever_is_said_only_what_stands_in_the_passage_is_kept(said):
    asked = ask_for(Saying(said), [passage(TEXT)], "t", ENTITY_TYPES, max_tokens=99, seconds=9.0)
    assert bool(asked.failure) == (asked.value is None)
    for found in asked.value or ():
        named = {each.name for each in found.mentions}
        for each in found.mentions:
            assert each.name.casefold() in TEXT.replace("-\n", "-").casefold()
            assert len(each.name) <= LONGEST_NAME
            assert each.entity_type in ENTITY_TYPES
        for each in found.triples:
            assert {each.subject, each.object} <= named
            assert each.subject != each.object
            assert each.relation in RELATION_TYPES
