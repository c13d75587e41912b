"""What repairs a damaged library: the papers, the token vectors or the database made again."""

import sqlite3
from contextlib import closing

import pytest

from ragscience.core.errors import LibraryDamaged, NothingFound
from ragscience.core.records import Metadata
from ragscience.core.settings import load_settings
from ragscience.engine import AskRequest, Engine, SearchRequest, Warned
from ragscience.library.store import Home, Library
from tests.pdf_factory import make_pdf

GLAZE = "At what temperature does the glaze mature?"
OTHER = ["Voles in winter\n\nThe voles store 47 grams of seed in each burrow."]


@pytest.fixture
def home(own_home):
    return Home(own_home)


def opened(home):
    chosen = {"embedder": "embedded", "answerer": "extractive", "rerank": "late-interaction"}
    return Engine.open(home.root, load_settings(home=home.root, offline=True, **chosen))


def results(home):
    """(file, page, text, score) of each hit, and the warnings."""
    with opened(home) as engine:
        found = engine.search(SearchRequest(GLAZE))
        rows = [(hit.chunk.file, hit.chunk.page_start, hit.chunk.text, hit.score) for hit in found.hits]
        return rows, list(found.warnings)


def sql(home, *statements):
    with closing(sqlite3.connect(home.database)) as db, db:
        db.create_function("altered", 1, lambda row: row.replace(b"1280", b"1290"))
        for statement in statements:
            db.execute(statement)


def verified(home):
    with Library.open(home) as library:
        return library.verify()


def test_a_damaged_paper_is_left_out_of_answers_with_a_warning_and_read_again_by_name(home):
    before, _ = results(home)
    assert before[0][0] == "kilns.pdf"
    sql(
        home,
        "UPDATE chunks SET row = altered(row)",
        "UPDATE parts SET row = zeroblob(40) WHERE part = 'contents' AND paper_id = "
        "(SELECT paper_id FROM papers WHERE CAST(path AS TEXT) LIKE '%kilns%')",
    )
    after, warnings = results(home)
    assert [row for row in after if row[0] == "kilns.pdf"] == []
    assert len(warnings) == 1
    assert "`python ingest.py rebuild kilns.pdf`" in warnings[0]
    with opened(home) as engine:
        answer = engine.ask(AskRequest(GLAZE))
        assert "1290" not in answer.text
        assert warnings[0] in answer.warnings
        with pytest.raises(LibraryDamaged, match="pages of kilns"):
            engine.papers.page("kilns.pdf", 1)
        with pytest.raises(NothingFound):
            engine.ingest.rebuild(papers=["no such.pdf"])
        result = engine.ingest.rebuild(papers=["kilns.pdf"])
        assert [paper.file for paper in result.updated] == ["kilns.pdf"]
        assert result.papers == 3
    assert results(home) == (before, [])
    assert verified(home) == []


@pytest.mark.parametrize(
    "lost", ["DELETE FROM tokens", "UPDATE tokens SET row = x''", "UPDATE tokens SET row = row || x'00'"]
)
def test_lost_token_vectors_are_said_by_doctor_and_search_and_made_again(home, lost):
    before, _ = results(home)
    sql(home, lost)
    _, warnings = results(home)
    assert len(warnings) == 1
    assert "token vectors" in warnings[0]
    assert "`python ingest.py rebuild --indexes`" in warnings[0]
    with opened(home) as engine:
        (said,) = [one for one in engine.doctor() if one.area == "contents"]
        assert (said.severity, "token vectors" in said.message) == ("error", True)
        assert "rebuild --indexes" in said.remedy
        engine.ingest.rebuild("indexes")
    assert results(home) == (before, [])
    assert verified(home) == []


DAMAGE = {
    "empty": lambda data: b"",
    "zeroed after the first page": lambda data: data[:8192] + bytes(len(data) - 8192),
    "cut": lambda data: data[: len(data) // 2],
    "a paper's title": lambda data: data.replace(b"Predicting tides", b"Predicting sides"),
    "meta": lambda data: data.replace(b"library_id", b"library_iD"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_database_that_is_damaged_as_a_whole_is_said_and_made_again_from_all_its_papers(home, tmp_path, damage):
    make_pdf(tmp_path / "elsewhere" / "voles.pdf", OTHER)
    with opened(home) as engine:
        engine.ingest.add([tmp_path / "elsewhere" / "voles.pdf"])
    before, _ = results(home)
    content = home.database.read_bytes()
    home.database.write_bytes(DAMAGE[damage](content))
    for command in (lambda engine: engine.papers.list(), lambda engine: engine.search(SearchRequest(GLAZE))):
        events = []
        with Engine.open(home.root, load_settings(home=home.root, offline=True), on_event=events.append) as engine:
            try:
                made = command(engine)
                said = [event.text for event in events if isinstance(event, Warned)] + list(
                    getattr(made, "warnings", ())
                )
            except LibraryDamaged as error:
                said = [str(error)]
        assert any("`python ingest.py rebuild`" in text for text in said), said
    with opened(home) as engine:
        assert any(one.severity == "error" for one in engine.doctor())
        events = []
        engine.ingest.rebuild(on_event=events.append)
        kept = [event.text for event in events if isinstance(event, Warned) and "is kept as" in event.text]
        assert len(kept) == 1
        assert {paper.file for paper in engine.papers.list()} == {"bees.pdf", "kilns.pdf", "tides.pdf", "voles.pdf"}
    after, warnings = results(home)
    assert ([row[:3] for row in after], warnings) == ([row[:3] for row in before], [])
    assert (home.vectorstore / "library.sqlite.damaged-1").exists()


def test_what_was_left_out_and_fetched_outlives_a_damaged_database(home):
    with opened(home) as engine:
        papers = {paper.file: paper for paper in engine.papers.list()}
        engine.ingest.remove(["kilns.pdf"])
    with Library.open_for_writing(home) as library:
        library.sources.put(papers["tides.pdf"].md5, Metadata(title="Theirs", url="https://a.b/c", abstract="Waves."))
        library.note("removed", {papers["tides.pdf"].md5: papers["tides.pdf"].path})  # and then the run was killed
    with closing(sqlite3.connect(home.database)) as db, db:
        db.execute("UPDATE state SET row = zeroblob(200)")
    with opened(home) as engine:
        engine.ingest.rebuild()
        bees, paper = engine.papers.list()
        assert bees.file == "bees.pdf"
        assert (paper.file, paper.metadata.url, paper.metadata.abstract) == ("tides.pdf", "https://a.b/c", "Waves.")
        engine.ingest.sync()
        assert [paper.file for paper in engine.papers.list()] == ["bees.pdf", "tides.pdf"]
    assert verified(home) == []


def test_a_paper_that_took_the_place_of_another_leaves_its_own_place_to_what_is_there_now(home):
    bees, kilns = home.papers / "bees.pdf", home.papers / "kilns.pdf"
    bees.replace(kilns)
    make_pdf(bees, OTHER)
    with opened(home) as engine:
        result = engine.ingest.rebuild()
        assert ([paper.file for paper in result.added], result.papers) == (["bees.pdf"], 3)
        (hit, *_) = engine.search(SearchRequest("How many grams of seed do voles store?")).hits
    assert hit.chunk.file == "bees.pdf"


def test_an_empty_database_beside_a_damaged_ledger_is_lost_and_not_empty(home):
    home.database.write_bytes(b"")
    home.ledger.write_bytes(home.ledger.read_bytes()[:40])
    with opened(home) as engine, pytest.raises(LibraryDamaged, match=r"the library was lost"):
        engine.search(SearchRequest(GLAZE))
    with opened(home) as engine:
        assert engine.ingest.rebuild().papers == 3
