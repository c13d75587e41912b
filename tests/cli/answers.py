"""Answers for the tests of what is shown, made by hand."""

from ragscience.core.records import Answer, Citation, Found, Sentence
from tests.ask import passages


def hit(file, page, text, **more):
    return passages.hit(text, file=file, page=page, **more)


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
