"""The graph's rows, also in processes that are killed."""

import signal

import pytest

from ragscience.library.store import Library
from tests.library.making import start_program

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
    new = [(chunk, "new") for chunk in library.graph.pending("local", "2")]
    library.graph.put("local", "2", new, alone=True)
"""


@pytest.mark.parametrize("statement", ["DELETE FROM graph_passages", "INSERT OR REPLACE INTO state", "COMMIT"])
def test_a_writer_that_is_killed_between_rows_leaves_those_of_before(filled, statement):
    with Library.open_for_writing(filled) as library:
        library.graph.put("local", "1", [(chunk, "old") for chunk in library.graph.pending("local", "1")])
        before, state = library.graph.rows(), library.graph.state()
    with start_program(KILLED, filled.root, statement) as process:
        assert process.wait(100) == -signal.SIGKILL
    with Library.open_for_writing(filled) as library:
        assert (library.graph.rows(), library.graph.state()) == (before, state)
