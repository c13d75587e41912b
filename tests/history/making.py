"""Answers as the commands give them, for the tests of the history."""

import itertools

from ragscience.core.records import Answer, Citation, Found, Hit, Sentence, StoredChunk

NUMBERS = itertools.count(1)


def chunk(text, *, file="bees.pdf", page=2):
    return StoredChunk(
        chunk_id=7,
        paper_id=1,
        file=file,
        path=f"/papers/{file}",
        ordinal=3,
        text=text,
        start=100,
        end=100 + len(text),
        page_start=page,
        page_end=page,
        section="",
        kind="text",
        page_breaks=((0, page),),
    )


def answer(question="How fast?", text="3.7 metres per second (bees.pdf, p.2).", *, answer_id=None, **more):
    """An answer with one passage, one citation and one checked sentence."""
    citation = Citation("bees.pdf", 2, "3.7 metres per second", True, "/papers/bees.pdf", 120, 141, ((1.0, 2, 3, 4.5),))
    scores = {"dense": 0.61, "bm25": None, "fused": 0.9, "rerank": None}
    hit = Hit(1, chunk("The mean speed was 3.7 metres per second."), 0.9, scores, ("dense",))
    given = {
        "answer_id": f"{next(NUMBERS):012x}" if answer_id is None else answer_id,
        "question": question,
        "text": text,
        "mode": "extractive",
        "refused": False,
        "citations": (citation,),
        "found": Found(f"searched: {question}", "default", (hit,), ("a warning",), {"dense_ms": 1.5}, {"best": 0.61}),
        "models": {"embedder": "all-MiniLM-L6-v2", "reranker": None, "llm": None},
        "timings_ms": {"total_ms": 12.0},
        "sentences": (Sentence(text, "supported", 0.95, citation),),
        "answerability": 0.8,
        "tokens": {"prompt": 10},
    }
    return Answer(**{**given, **more})


def turn(question="How fast?", text="Fast.", *, at="2026-01-31T09:05:00+00:00", **more):
    return answer(question, text, **more), at
