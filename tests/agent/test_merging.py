from hypothesis import given
from hypothesis import strategies as st

from ragscience.agent.answer_drafts import merged
from ragscience.core.records import Found, Hit, StoredChunk


def hit(rank, chunk_id, score=0.0):
    chunk = StoredChunk(chunk_id, 1, "a.pdf", "/a.pdf", 0, "text", 0, 4, 1, 1, "", "text", ((0, 1),))
    return Hit(rank, chunk, score, {"fused": score}, ("dense",))


def found(*ids, score=0.0):
    return Found("q", "rrf", tuple(hit(rank, chunk_id, score) for rank, chunk_id in enumerate(ids, start=1)))


def ids(hits):
    return [each.chunk.chunk_id for each in hits]


LISTS = st.lists(st.lists(st.integers(0, 30), unique=True, max_size=12), max_size=8)


@given(LISTS, st.integers(0, 16), st.integers(1, 8))
def test_promises_of_any_merge(lists, limit, first):
    searches = [found(*each) for each in lists]
    hits = merged(searches, limit, first=first)
    everything = {chunk_id for each in lists for chunk_id in each}
    assert len(set(ids(hits))) == len(hits) <= limit
    assert set(ids(hits)) <= everything
    early = lists[:first]
    if limit >= len(early) and len(lists) <= first:
        assert {each[0] for each in early if each} <= set(ids(hits))
        assert len(hits) == min(limit, len(everything))
