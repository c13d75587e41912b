"""Passages with made-up mentions and triples, and libraries of papers that they are of."""

from hypothesis import strategies as st

from ragscience.graph.graph_records import EntityMention, Extracted, Triple, encoded
from ragscience.library.store import Home, Library
from tests.library.making import add, paper_of, unit_rows

NAMES = (
    "LSTM", "LSTMs", "lstm", "long short-term memory", "Long Short Term Memory", "least squares turning machine",
    "GPT-3", "gpt 3", "BLEU score", "BLEU scores", "=x", '"', "a\x1fb", "Łukasz’s", "数据集",
)  # fmt: skip
TYPES = ("METHOD", "METRIC", "DATASET")
KINDS = ("USES", "IMPROVES", "CO_OCCURS")
PAPERS, PASSAGES = 4, 3

names = st.sampled_from(NAMES)
types = st.sampled_from(TYPES)
shares = st.floats(0, 1)
mentions = st.builds(EntityMention, names, types, st.integers(1, 4), shares)
triples = st.builds(Triple, names, types, st.sampled_from(KINDS), names, types, shares)


def found(chunk_id):
    """What a passage may give; triples also of what it does not name."""
    return st.builds(
        Extracted,
        st.just(chunk_id),
        st.lists(mentions, max_size=4).map(tuple),
        st.lists(triples, max_size=3).map(tuple),
        st.lists(st.tuples(names, names), max_size=2).map(tuple),
    )


passages = st.lists(
    st.integers(0, PAPERS * PASSAGES - 1).flatmap(lambda at: st.tuples(st.just(at // PASSAGES), found(at))), max_size=12
)
"""(paper, what it gave); a passage may come more than once, as from two extractors."""


def say(chunk_id, *mentioned, triples=(), aliases=()):
    """What a passage gave: (name, type) or (name, type, count) of each mention; triples as (name, relation, name)."""
    kinds = {each[0]: each[1] for each in mentioned}
    return Extracted(
        chunk_id,
        tuple(EntityMention(name, kind, *(count or (1,)), 0.8) for name, kind, *count in mentioned),
        tuple(
            Triple(subject, kinds.get(subject, "METHOD"), relation, other, kinds.get(other, "METHOD"), 0.5)
            for subject, relation, other in triples
        ),
        tuple(aliases),
    )


def paper(number):
    """A paper of three passages."""
    import numpy as np

    texts = [f"Paper {number}, passage {at}." for at in range(PASSAGES)]
    return paper_of(f"/papers/{number}.pdf", texts, unit_rows(np.random.default_rng(number), PASSAGES))


def fill(library, numbers=range(PAPERS)):
    """Add these papers; the chunk ids of each, by its number."""
    return {
        number: [chunk.chunk_id for chunk in library.paper_chunks(add(library, paper(number)).paper_id)]
        for number in numbers
    }


def put(library, *found, extractor="local"):
    library.graph.put(extractor, "1", [(each.chunk_id, encoded(each)) for each in found])


def fill_graph(home, said, kind="METHOD"):
    """A graph of the home's papers as an extractor would have kept it: triples by words of the passages that say so."""
    with Library.open_for_writing(Home(home)) as library:
        found = []
        for chunk in (one for paper in library.papers() for one in library.paper_chunks(paper.paper_id)):
            triples = [triple for words, all_ in said.items() if words in chunk.text for triple in all_]
            names = dict.fromkeys(name for one, _, other in triples for name in (one, other))
            found.append(say(chunk.chunk_id, *((name, kind) for name in names), triples=triples))
        put(library, *found, extractor="import")
