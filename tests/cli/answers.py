"""Answers for the tests of what is shown, made by hand."""

from ragscience.core.records import Answer, Citation, Found, Hit, Sentence, StoredChunk


def hit(file, page, text, *, rank=1, path="", start=0, page_breaks=None, section="", kind="text"):
    breaks = page_breaks or ((0, page),)
    chunk = StoredChunk(
        chunk_id=rank,
        paper_id=1,
        file=file,
        path=path or f"/papers/{file}",
        ordinal=0,
        text=text,
        start=start,
        end=start + len(text),
        page_start=page,
        page_end=breaks[-1][1],
        section=section,
        kind=kind,
        page_breaks=breaks,
    )
    scores = {"dense": 0.5, "bm25": None, "fused": 1.0, "rerank": None}
    return Hit(rank, chunk, 1.0, scores, ("dense",))


def answer(
    text="An answer.", *, citations=(), hits=(), sentences=(), refused=False, searched="A question?",
    asked="A question?", **more,
):  # fmt: skip
    return Answer(
        answer_id="0123456789ab",
        question=asked,
        text=text,
        mode="extractive" if more.get("blocks") else "llm",
        refused=refused,
        citations=tuple(citations),
        found=Found(searched, "default", tuple(hits)),
        models={"embedder": "toy", "reranker": None, "llm": "toy-llm"},
        sentences=tuple(sentences),
        **more,
    )


BEES_1 = Citation("bees.pdf", 1, "Bees steer.", True, "/papers/bees.pdf")
BEES_2 = Citation("bees.pdf", 2, "3.7 metres", True, "/papers/bees.pdf")
KILNS = Citation("kilns.pdf", 1, "1280 degrees", False, "/papers/a b/kilns.pdf")
SENTENCES = (
    Sentence("Bees steer (bees.pdf, p.1).", "supported", 0.9, BEES_1),
    Sentence("So:", "no-claim", 0.0, None),
    Sentence("They fly (kilns.pdf, p.1).", "weak", 0.4, KILNS),
    Sentence("It is 9 degrees.", "unsupported", 0.0, None),
)
CHECKED = answer(
    "Bees steer (bees.pdf, p.1). So: They fly (kilns.pdf, p.1). It is 9 degrees.",
    citations=(BEES_1, KILNS, BEES_2, BEES_1),
    sentences=SENTENCES,
)
