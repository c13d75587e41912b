"""Records as the commands keep them, for the tests of the audit log."""

from ragscience.core.records import EmbedderIdentity, Filters, Metadata, Paper
from ragscience.library.audit import Circumstances, Request, record_of
from tests.history.making import answer

EMBEDDER = EmbedderIdentity("embedded", "all-MiniLM-L6-v2", "ab" * 32, 384)
PLAIN = Request(Filters(), (), strict=False, agent=False)


def paper(*, url="", md5="0" * 32):
    return Paper(1, "bees.pdf", "/papers/bees.pdf", md5, 10, 0, 2, 3, "Bees", "2026-01-31", metadata=Metadata(url=url))


def circumstances(**more):
    given = {
        "program": "1.2.3",
        "settings": {"top_k": 4, "ollama_url": "http://127.0.0.1:11434"},
        "wanted": None,
        "library_id": "cafe",
        "generation": 4,
        "chunker": "sections",
        "embedder": EMBEDDER,
        "digests": {},
    }
    return Circumstances(**{**given, **more})


def record(*, request=PLAIN, under=None, papers=None, earlier=None, **of_the_answer):
    return record_of(
        answer(**of_the_answer),
        at="2026-01-31T09:05:00+00:00",
        asked=request,
        under=under or circumstances(),
        papers={1: paper()} if papers is None else papers,
        earlier=earlier or {},
    )
