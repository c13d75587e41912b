"""`ingest.py copy`: the same library at another place, also after a copy that was cut off."""

from dataclasses import replace

import pytest

from ragscience.core.errors import NothingFound, RagScienceError, UsageError
from ragscience.core.records import Metadata
from ragscience.core.settings import Settings
from ragscience.engine import Engine
from ragscience.engine.events import PaperStored
from ragscience.library import left_out
from ragscience.library.store import Home, Library
from tests.library.making import CHUNKER, EMBEDDER, Place

from .test_store_conformance import everything, rich_paper

pytest.importorskip("lancedb", reason="lancedb is not installed: libraries in LanceDB are not tried")


@pytest.fixture
def home(tmp_path):
    """A home with four papers of which one left, sources, rows of the graph, and files that are left out."""
    home = Home(tmp_path / "home")
    with Library.open_for_writing(home) as library:
        library.set_identity(EMBEDDER, CHUNKER)
        papers = [library.add_paper(rich_paper(number)) for number in range(1, 5)]
        left_out.note_removed(library, [papers[0]])
        left_out.set_aside(library, {"older": papers[1]})
        library.remove_papers([papers[0].paper_id])
        library.sources.put(papers[2].md5, Metadata("Theirs", url="https://a.b/c", abstract="A"))
        library.graph.put("toy", "1", [(5, "{}"), (6, '{"a": 1}')])
        library.graph.put("toy", "2", [(7, "{}")])
    return home


def told(library):
    """What must be the same in a copy: all but ids and counters, which begin anew."""
    found = everything(library)
    names = library.graph.stable_ids()
    return {
        "papers": [replace(paper, paper_id=0) for paper in found["papers"]],
        "pages": found["page"],
        "fingerprints": found["fingerprints"],
        "passages": [replace(chunk, chunk_id=0, paper_id=0) for chunk in found["passages"]],
        "vectors": found["vectors"][1],
        "tokens": {names[key]: rows for key, rows in found["tokens"].items()},
        "left out": ([*found["left out"][0]], found["left out"][1]),
        "graph": [(names[one], *rest) for one, _, *rest in found["graph"][0]],
        "of graph": found["graph"][1],
        "sources": found["sources"],
        "searches": {key: value[1] for key, value in found.items() if _is_search(key)},
        "verified": found["verified"],
    }


def _is_search(key):
    """Whether it is a search whose filter means the same in a copy, where papers have other ids."""
    return key[0] in ("dense", "keywords") and not key[-1].paper_ids


def contents_of(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and "lance" not in path.as_posix()}


def test_a_library_goes_there_and_comes_back_and_the_source_stays_as_it_is(home, tmp_path):
    uri = f"lance://{tmp_path / 'there'}"
    before = contents_of(home.root)
    with Engine.open(home.root, Settings(home=home.root)) as engine:
        done = engine.ingest.copy(uri)
    assert (done.papers, done.passages, done.copied) == (3, 12, 3)
    after = contents_of(home.root)
    assert {path: after[path] for path in before if "lock" not in path.name} == {
        path: content for path, content in before.items() if "lock" not in path.name
    }
    back = Home(tmp_path / "back")
    back.root.mkdir()
    with Engine.open(back.root, Settings(home=back.root, library=uri)) as engine:
        assert engine.ingest.copy("vectorstore").copied == 3
    with Library.open(home) as one, Place(home, uri).open() as two, Library.open(back) as three:
        assert told(one) == told(two) == told(three)
        assert len({one.about.library_id, two.about.library_id, three.about.library_id}) == 3


def test_a_copy_that_was_cut_off_goes_on_and_one_that_is_whole_copies_nothing(home, tmp_path):
    uri = f"lance://{tmp_path / 'there'}"

    def cut_off(event):
        if isinstance(event, PaperStored):
            raise KeyboardInterrupt

    with Engine.open(home.root, Settings(home=home.root)) as engine:
        with pytest.raises(KeyboardInterrupt):
            engine.ingest.copy(uri, on_event=cut_off)
        assert engine.ingest.copy(uri).copied == 2
        assert engine.ingest.copy(uri).copied == 0
    with Library.open(home) as one, Place(home, uri).open() as two:
        assert told(one) == told(two)


def test_a_copy_that_differs_is_told(home, tmp_path):
    uri = f"lance://{tmp_path / 'there'}"
    with Engine.open(home.root, Settings(home=home.root)) as engine:
        engine.ingest.copy(uri)
        with Place(home, uri).open(writing=True, keeps_ledger=False) as copied:
            paper = copied.paper(md5=rich_paper(2).md5)
            other = replace(rich_paper(2), vectors=rich_paper(2).vectors[::-1].copy(), replaces=[paper.paper_id])
            copied.add_paper(other)
        with pytest.raises(RagScienceError, match="not the same in the copy"):
            engine.ingest.copy(uri)


def test_what_cannot_be_copied_is_refused(home, tmp_path):
    uri = f"lance://{tmp_path / 'there'}"
    with Engine.open(home.root, Settings(home=home.root)) as engine:
        with pytest.raises(UsageError):
            engine.ingest.copy("vectorstore")
        with pytest.raises(NothingFound):
            engine.ingest.copy("vectorstore", uri)
        with Place(home, uri).open(writing=True, keeps_ledger=False) as other:
            other.set_identity(EMBEDDER, CHUNKER)
            other.add_paper(rich_paper(9))
        with pytest.raises(UsageError, match="1 paper"):
            engine.ingest.copy(uri)
