"""The stores that the conformance tests try, each opened by its own URI; and a writer that can be killed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ragscience.library.lance_store import open_lance
from ragscience.library.store import Home, Library, known_files
from tests.library.making import add, numbered_paper


@dataclass(frozen=True)
class Place:
    """A home and the URI of its library."""

    home: Home
    uri: str

    def open(self, home: Home | None = None, *, writing: bool = False, keeps_ledger: bool = True):
        home = home or self.home
        if self.uri == "vectorstore":
            return Library.open_for_writing(home) if writing else Library.open(home)
        return open_lance(home, self.uri, writing=writing, keeps_ledger=keeps_ledger)


def write_papers(root: Path, uri: str, last: int) -> None:
    """Add the numbered papers that are not there yet, and say so after each."""
    with Place(Home(root), uri).open(writing=True) as library:
        known = set(known_files(library))
        for number in range(last):
            made = numbered_paper(number)
            if made.path not in known:
                add(library, made)
                print("added", number, flush=True)


if __name__ == "__main__":
    import sys

    write_papers(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
