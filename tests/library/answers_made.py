"""Answers and audit records as the commands give them."""

import itertools

from ragscience.core.records import Answer, Citation, Found, Hit, Metadata, Paper, Sentence, StoredChunk
from ragscience.library.history import KeptAnswer
from ragscience.library.history_database import of_answer

NUMBERS = itertools.count(1)


def chunk(text, *, file="bees.pdf", page=2):
    end = 100 + len(text)
    return StoredChunk(7, 1, file, f"/papers/{file}", 3, text, 100, end, page, page, "", "text", ((0, page),))


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


def turn(question="How fast?", text="Fast.", *, at="2026-01-31T09:05:00+00:00", audit=None, **more):
    return KeptAnswer(None, at, answer(question, text, **more), audit)


def paper(*, url="", md5="0" * 32):
    return Paper(1, "bees.pdf", "/papers/bees.pdf", md5, 10, 0, 2, 3, "Bees", "2026-01-31", metadata=Metadata(url=url))


DEPENDS_ON = {
    "schema": 2,
    "at": "2026-01-31T09:05:00+00:00",
    "program": "1.2.3",
    "person": "",
    "agent": False,
    "strict": False,
    "plain": False,
    "k": None,
    "filters": {"papers": [], "pages": None},
    "history": [],
    "settings": {"top_k": 4, "ollama_url": "http://127.0.0.1:11434"},
    "library": {"id": "cafe", "generation": 4, "chunker": "sections", "embedder": None},
    "models": {"embedder": {"name": "all-MiniLM-L6-v2", "digest": "ab" * 32}, "reranker": None, "llm": None},
}
"""What a record says besides the answer."""


def record(*, papers=None, warnings=(), depends_on=None, **of_the_answer):
    made = of_answer(answer(**of_the_answer), {1: paper()} if papers is None else papers, warnings)
    return DEPENDS_ON | (depends_on or {}) | made


def audited(**of_the_answer):
    """A turn with its record."""
    made = answer(**of_the_answer)
    return KeptAnswer(None, DEPENDS_ON["at"], made, DEPENDS_ON | of_answer(made, {1: paper()}))
