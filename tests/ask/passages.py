"""Hits and a searcher for the tests of the answering room."""

from collections.abc import Sequence

from ragscience.core.records import Found, Hit, StoredChunk


def hit(text, *, file="attention.pdf", page=3, rank=1, start=0, breaks=None, dense=0.5, section="", kind="text"):
    """A hit on one page, or on those of `breaks`: ((offset, page), …)."""
    breaks = tuple(breaks) if breaks else ((0, page),)
    pages = breaks[0][1], breaks[-1][1]
    chunk = StoredChunk(
        rank, 1, file, f"/papers/{file}", rank - 1, text, start, start + len(text), *pages, section, kind, breaks
    )
    scores = {"dense": dense, "bm25": None, "fused": dense, "rerank": None}
    return Hit(rank, chunk, dense or 0.0, scores, ("dense",))


class Search:
    """A searcher that always finds the same, and remembers what it was asked."""

    def __init__(self, *hits: Hit, warnings: Sequence[str] = ()):
        self.hits = hits
        self.warnings = tuple(warnings)
        self.asked: list[str] = []

    def __call__(self, question: str) -> Found:
        self.asked.append(question)
        return Found(question, "default", self.hits, self.warnings)


TRAINING = hit(
    "We trained our models on one machine with 8 NVIDIA P100 GPUs. Training took 3.5 days for the big models. "
    "The base models were trained for 12 hours.",
    page=7,
)
SAMPLING = hit("Beam search with a beam size of 4 was used for decoding.", file="decoding.pdf", page=2, rank=2)
