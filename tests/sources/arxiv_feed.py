"""A local server that speaks arXiv's API, in Atom of our own writing, and has PDFs and whatever a test gives it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self
from urllib.parse import parse_qs, urlsplit
from xml.sax.saxutils import escape

from .fault_server import FaultServer, Reply, Scripted

ATOM = "application/atom+xml; charset=utf-8"


@dataclass(frozen=True)
class FeedPaper:
    """An entry; an empty field is left out of it."""

    id: str = "2101.00001v1"
    title: str = "On the flight of bees"
    authors: tuple[str, ...] = ("Ada Lovelace", "Émile Borel")
    summary: str = "Bees fly in fog. They fly slower."
    published: str = "2021-01-04T17:57:34Z"
    doi: str = ""
    journal_ref: str = ""
    comment: str = ""
    categories: tuple[str, ...] = ("cs.CL", "stat.ML")

    def xml(self) -> str:
        parts = [f"<id>http://arxiv.org/abs/{escape(self.id)}</id>" if self.id else ""]
        parts += [f"<updated>{self.published}</updated><published>{self.published}</published>" * bool(self.published)]
        parts += [f"<title>{escape(self.title)}</title>" * bool(self.title)]
        parts += [f"<summary>{escape(self.summary)}</summary>" * bool(self.summary)]
        parts += [f"<author><name>{escape(name)}</name></author>" for name in self.authors]
        for name, value in (("doi", self.doi), ("journal_ref", self.journal_ref), ("comment", self.comment)):
            parts += [f"<arxiv:{name}>{escape(value)}</arxiv:{name}>" * bool(value)]
        parts += [f'<link title="pdf" href="http://arxiv.org/pdf/{escape(self.id)}" rel="related"/>']
        if self.categories:
            parts += [f'<arxiv:primary_category term="{self.categories[0]}"/>']
        parts += [f'<category term="{escape(term)}"/>' for term in self.categories]
        return f"<entry>{''.join(parts)}</entry>"


def feed(papers: list[FeedPaper], total: int | None = None) -> bytes:
    """A whole feed; `total` None leaves out how many there are in all."""
    counted = "" if total is None else f"<opensearch:totalResults>{total}</opensearch:totalResults>"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom"'
        ' xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom">'
        f"<title>Results</title><id>http://arxiv.org/api/x</id>{counted}{''.join(one.xml() for one in papers)}</feed>"
    ).encode()


def error_feed(reason: str) -> bytes:
    """How the API tells that it did not understand."""
    entry = f"<id>http://arxiv.org/api/errors#x</id><title>Error</title><summary>{escape(reason)}</summary>"
    return feed([], 1).replace(b"</feed>", f"<entry>{entry}</entry></feed>".encode())


@dataclass
class ArxivServer:
    """Answers searches with `papers` in their order and id_list with those asked for; PDFs are put beside it.

    `api` is the answer of the API in place of all that.
    """

    papers: list[FeedPaper] = field(default_factory=list)
    api: Reply | None = None
    nonsense: set[str] = field(default_factory=set)
    """Ids that make the API answer with an error."""
    asked: list[dict[str, str]] = field(default_factory=list)
    """The parameters of each call of the API."""
    faults: FaultServer = field(default_factory=FaultServer)

    def __enter__(self) -> Self:
        self.faults.__enter__()
        self.faults.on("/api/query", lambda asked: self.answer(asked.path))
        return self

    def __exit__(self, *_: object) -> None:
        self.faults.__exit__()

    def put(self, path: str, *replies: bytes | Scripted) -> str:
        """What is there: bytes of a PDF by its arXiv id, or any reply by a path with a slash; the URL."""
        place = path if path.startswith("/") else f"/pdf/{path}"
        return self.faults.on(place, *(Reply(one) if isinstance(one, bytes) else one for one in replies))

    @property
    def paths(self) -> list[str]:
        """What else than the API was asked for, in order."""
        return [one.path for one in self.faults.requests if not one.path.startswith("/api/")]

    @property
    def flags(self) -> dict[str, object]:
        """The setting that lets a run reach it, without pauses."""
        return {"arxiv_url": f"{self.faults.url}/api/query"}

    @property
    def environment(self) -> dict[str, str]:
        """The same for a script."""
        return {f"RAG_{name.upper()}": str(value) for name, value in self.flags.items()}

    def answer(self, target: str) -> Reply:
        """Of the API, for the path and query of an address."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
        self.asked.append(asked)
        return self.api or Reply(self._found(asked), content_type=ATOM)

    def _found(self, asked: dict[str, str]) -> bytes:
        start, most = int(asked["start"]), int(asked["max_results"])
        papers = self.papers
        if "id_list" in asked:
            ids = asked["id_list"].split(",")
            if bad := self.nonsense & set(ids):
                return error_feed(f"incorrect id format for {bad.pop()}")
            papers = [one for one in papers if one.id in ids or one.id.rpartition("v")[0] in ids]
        return feed(papers[start : start + most], len(papers))
