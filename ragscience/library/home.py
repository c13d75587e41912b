"""The files and folders of a home: the user's papers and everything generated from them."""

from __future__ import annotations

from pathlib import Path


class Home:
    """A folder with papers/, vectorstore/ and ingested.json; creating the object creates no files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.papers = root / "papers"
        """The user's PDFs."""
        self.ledger = root / "ingested.json"
        """MD5 and status of each file, written from the database for people and scripts."""
        self.serve_tokens = root / "serve_tokens.json"
        """Hashes of the tokens of those whom the library is served to."""
        made = self.vectorstore = root / "vectorstore"
        """Everything that is generated, except the ledger."""
        self.database = made / "library.sqlite"
        """The source of truth: papers, pages, chunks and vectors, in SQLite."""
        self.history = made / "history.sqlite"
        """Conversations and audit records, in SQLite."""
        self.people = made / "people"
        """The folder of what is kept of people whom the library is served to; each has files of their own."""
        self.lock = made / "writer.lock"
        """Lock file of the one writing process, with its pid inside."""
        self.parts = made / "parts"
        """The folder of unfinished downloads; they are resumed from there."""
        self.tokens = made / "tokens"
        """The folder of token vectors of older libraries; nothing needs it."""
        # Caches
        self.faiss = made / "index.faiss"
        """The dense index; index.json next to it describes what it was built from."""
        self.names = made / "names.json"
        """The names that the papers go by."""
        self.skipped = made / "skipped.json"
        """The files that were seen and not read, with the reasons."""
        self.objects = made / "objects.json"
        """The objects of the bucket that the papers are in, as they were last listed."""
        self.told = made / "told.json"
        """The choices of models that a person has been told of."""
        self.agent = made / "agent.sqlite"
        """Checkpoints of interrupted agent runs, in SQLite."""

    def history_of(self, person: str) -> Path:
        """The conversations of that person, a name of `serve_tokens.json`; empty: of the library's own user."""
        return self.people / f"{person}.sqlite" if person else self.history
