import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

from ragscience.library.store import Home, Library

from .making import numbered_paper
from .test_damage import results

ROOT = Path(__file__).parents[2]


def start(home, last):
    command = [sys.executable, "-m", "tests.library.making", str(home.root), "0", str(last), "3"]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)


def assert_whole(home):
    """What is there is whole, and is a beginning of what belongs there."""
    if home.database.exists():
        with closing(sqlite3.connect(home.database)) as db:
            assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert db.execute("PRAGMA foreign_key_check").fetchall() == []
    with Library.open(home) as library:
        papers = library.papers()
        for number, paper in enumerate(papers):
            made = numbered_paper(number)
            assert (paper.path, paper.md5) == (made.path, made.md5)
            assert [chunk.text for chunk in library.paper_chunks(paper.paper_id)] == [
                chunk.text for chunk in made.chunks
            ]
            assert len(library.contents(paper.paper_id).pages) == len(made.document.pages)
        results(library)
        return len(papers)


def test_a_reader_sees_one_generation_while_another_process_writes(tmp_path):
    home = Home(tmp_path / "home")
    sizes = set()
    with start(home, 25) as process:
        process.stdout.readline()
        while process.poll() is None:
            with Library.open(home) as library:
                for _ in range(5):
                    with library.snapshot():
                        sizes.add(library.about.chunks)
                        ids, vectors = library.vectors.of()
                        assert library.about.chunks == sum(paper.chunks for paper in library.papers()) == ids.size
                        if ids.size:
                            found, _ = library.dense.search(vectors[-1], 10_000, None)
                            assert sorted(found.tolist()) == ids.tolist()
                            assert {chunk.chunk_id for chunk in library.chunks(found.tolist())} == set(ids.tolist())
                            words, _ = library.keywords.search("attention network protein graph", 10_000, None)
                            assert set(words.tolist()) <= set(ids.tolist())
        process.stdout.read()
    assert process.returncode == 0
    assert sizes
    assert assert_whole(home) == 25
