"""Where a home keeps what: the papers of the user, and what is made from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Home"]


@dataclass(frozen=True)
class Home:
    """A folder with papers/, vectorstore/ and ingested.json; nothing is created by naming it."""

    root: Path

    @property
    def papers(self) -> Path:
        """The user's PDFs."""
        return self.root / "papers"

    @property
    def vectorstore(self) -> Path:
        """Everything that is generated, but for the ledger."""
        return self.root / "vectorstore"

    @property
    def database(self) -> Path:
        """The truth: papers, pages, chunks and vectors, in SQLite."""
        return self.vectorstore / "library.sqlite"

    @property
    def faiss(self) -> Path:
        """The dense index, a cache; what it was built from is told by index.json beside it."""
        return self.vectorstore / "index.faiss"

    @property
    def keywords(self) -> Path:
        """The folder of the keyword index, a cache."""
        return self.vectorstore / "keywords"

    @property
    def tokens(self) -> Path:
        """The folder of the token vectors for late interaction."""
        return self.vectorstore / "tokens"

    @property
    def parts(self) -> Path:
        """The folder of downloads that are not papers yet; what was cut off goes on from there."""
        return self.vectorstore / "parts"

    @property
    def graph(self) -> Path:
        """The folder of the graph as it is loaded, a cache."""
        return self.vectorstore / "graph"

    @property
    def history(self) -> Path:
        """Conversations, in SQLite."""
        return self.vectorstore / "history.sqlite"

    @property
    def agent(self) -> Path:
        """Where runs of the agent that were interrupted stand, in SQLite; a cache."""
        return self.vectorstore / "agent.sqlite"

    @property
    def audit(self) -> Path:
        """What was asked, found and answered, one JSON object a line."""
        return self.vectorstore / "audit.jsonl"

    @property
    def ledger(self) -> Path:
        """MD5 of each file and what it became, written from the database for people and scripts to read."""
        return self.root / "ingested.json"

    @property
    def lock(self) -> Path:
        """Held by the one process that writes, with its pid inside."""
        return self.vectorstore / "writer.lock"
