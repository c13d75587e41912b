"""The files and folders of a home: the user's papers and everything generated from them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["Home"]


@dataclass(frozen=True)
class Home:
    """A folder with papers/, vectorstore/ and ingested.json; creating the object creates no files."""

    root: Path

    @property
    def papers(self) -> Path:
        """The user's PDFs."""
        return self.root / "papers"

    @property
    def vectorstore(self) -> Path:
        """Everything that is generated, except the ledger."""
        return self.root / "vectorstore"

    @property
    def database(self) -> Path:
        """The source of truth: papers, pages, chunks and vectors, in SQLite."""
        return self.vectorstore / "library.sqlite"

    @property
    def faiss(self) -> Path:
        """The dense index, a cache; index.json next to it describes what it was built from."""
        return self.vectorstore / "index.faiss"

    @property
    def names(self) -> Path:
        """The names that the papers go by, a cache."""
        return self.vectorstore / "names.json"

    @property
    def tokens(self) -> Path:
        """The folder of token vectors of older libraries; nothing needs it."""
        return self.vectorstore / "tokens"

    @property
    def skipped(self) -> Path:
        """The files that were seen and not read, with the reasons; a cache."""
        return self.vectorstore / "skipped.json"

    @property
    def objects(self) -> Path:
        """The objects of the bucket that the papers are in, as they were last listed; a cache."""
        return self.vectorstore / "objects.json"

    @property
    def told(self) -> Path:
        """The choices of models that a person has been told of; a cache."""
        return self.vectorstore / "told.json"

    @property
    def parts(self) -> Path:
        """The folder of unfinished downloads; they are resumed from there."""
        return self.vectorstore / "parts"

    @property
    def history(self) -> Path:
        """Conversations and audit records, in SQLite."""
        return self.vectorstore / "history.sqlite"

    @property
    def people(self) -> Path:
        """The folder of what is kept of people whom the library is served to; each has files of their own."""
        return self.vectorstore / "people"

    def history_of(self, person: str) -> Path:
        """The conversations of that person, a name of `serve_tokens.json`; empty: of the library's own user."""
        return self.people / f"{person}.sqlite" if person else self.history

    @property
    def serve_tokens(self) -> Path:
        """Hashes of the tokens of those whom the library is served to."""
        return self.root / "serve_tokens.json"

    @property
    def agent(self) -> Path:
        """Checkpoints of interrupted agent runs, in SQLite; a cache."""
        return self.vectorstore / "agent.sqlite"

    @property
    def ledger(self) -> Path:
        """MD5 and status of each file, written from the database for people and scripts."""
        return self.root / "ingested.json"

    @property
    def lock(self) -> Path:
        """Lock file of the one writing process, with its pid inside."""
        return self.vectorstore / "writer.lock"
