"""The graph's rows, also in processes that are killed."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ragscience.library.store import Library

from .making import add, numbered_paper

ROOT = Path(__file__).parents[2]


def test_stable_ids_stay_when_a_paper_leaves_and_comes_back(home):
    with Library.open_for_writing(home) as library:
        first, second = (add(library, numbered_paper(number)) for number in (1, 2))
        names = library.graph.stable_ids()
        library.remove_papers([first.paper_id])
        assert set(library.graph.stable_ids().values()) == {f"{second.md5[:12]}#{at}" for at in range(second.chunks)}
        add(library, numbered_paper(1))
        again = library.graph.stable_ids()
        assert sorted(again.values()) == sorted(names.values())
        assert set(again) != set(names)


def test_a_replaced_extractor_keeps_nothing_of_before(filled):
    with Library.open_for_writing(filled) as library:
        one, two, *_ = library.graph.pending("import", "1")
        library.graph.put("local", "1", [(one, "local")])
        library.graph.replace("import", "1", [(one, "a"), (two, "b")])
        library.graph.replace("import", "2", [(two, "c")])
        assert [(row[0], row[2], row[3]) for row in library.graph.rows()] == [
            (one, "local", "local"),
            (two, "import", "c"),
        ]


def test_a_replaced_paper_loses_its_rows(filled):
    with Library.open_for_writing(filled) as library:
        library.graph.put("local", "1", [(chunk, "x") for chunk in library.graph.pending("local", "1")])
        old = library.papers()[0]
        state = library.graph.state()
        add(library, numbered_paper(17, old.path), replaces=[old.paper_id])
        assert library.graph.state() != state
        assert old.paper_id not in {row[1] for row in library.graph.rows()}
        assert len(library.graph.pending("local", "1")) == numbered_paper(17).document.text.count("\n") + 1


KILLED = """
import os, signal, sqlite3, sys
from pathlib import Path
from ragscience.library.store import Home, Library

wanted, connect = sys.argv[2], sqlite3.connect
def watched(*given, **named):
    db = connect(*given, **named)
    db.set_trace_callback(lambda text: text.strip().startswith(wanted) and os.kill(os.getpid(), signal.SIGKILL))
    return db
sqlite3.connect = watched
with Library.open_for_writing(Home(Path(sys.argv[1]))) as library:
    library.graph.replace("local", "2", [(chunk, "new") for chunk in library.graph.pending("local", "2")])
"""


def killed_at(home, statement):
    done = subprocess.run([sys.executable, "-c", KILLED, str(home.root), statement], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.parametrize("statement", ["DELETE FROM graph_passages", "INSERT OR REPLACE INTO state", "COMMIT"])
def test_a_writer_that_is_killed_between_rows_leaves_those_of_before(filled, statement):
    with Library.open_for_writing(filled) as library:
        library.graph.put("local", "1", [(chunk, "old") for chunk in library.graph.pending("local", "1")])
        before, state = library.graph.rows(), library.graph.state()
    killed_at(filled, statement)
    with Library.open_for_writing(filled) as library:
        assert (library.graph.rows(), library.graph.state()) == (before, state)
