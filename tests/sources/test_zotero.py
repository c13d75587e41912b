"""A Zotero library: what of its items is known, and how it is followed. Made with the tables that Zotero has."""

import hashlib
import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import contextmanager

import pytest

from ragscience.core.errors import RagScienceError
from ragscience.core.records import Filters
from ragscience.core.settings import load_settings
from ragscience.engine import Engine, Warned
from ragscience.engine.requests import SearchRequest
from ragscience.sources.zotero import read_zotero
from ragscience.sources.zotero_folder import data_folder
from tests.conftest import ROOT
from tests.other_formats import write
from tests.pdf_factory import make_pdf
from tests.zotero_library import Zotero

TOPICS = ("storage engines", "leader election", "protein folding", "word vectors", "speech", "graph search")


def contents(folder):
    """The digest of each file of a folder, and when it was written."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path): (hashlib.md5(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns) for path in files}


@contextmanager
def opened(home):
    home.mkdir(exist_ok=True)
    with Engine.open(home, load_settings(home=home, offline=True)) as engine:
        yield engine


def text_of(number):
    return [
        f"On {TOPICS[number % len(TOPICS)]}, part {number}.\nWe measure {number + 3} seconds for case {number}.",
        f"The end of work {number}: its cost is {number * 7} units.",
    ]


@pytest.fixture
def two_papers(tmp_path):
    """Two papers in a collection within one; the first has a supplement, a highlight and a note."""
    zotero = Zotero(tmp_path / "Zotero")
    above = zotero.collection("Reading/2024 📚")
    within = zotero.collection("Consensus", above)
    raft = zotero.item(
        "conferencePaper", title="In Search of an Understandable Consensus Algorithm", date="2014-06-19 June 2014",
        proceedingsTitle="USENIX ATC", authors=[("Diego", "Ongaro"), ("John", "Ousterhout")], collections=[within],
        tags=["to read"], extra="Citation Key: ongaro2014search\nDOI: 10.5555/2643634",
    )  # fmt: skip
    number, path = zotero.attach(raft, "raft.pdf")
    make_pdf(
        path, ["Raft elects a leader.\nThe leader sends heartbeats every fifty milliseconds.", "Terms keep it safe."]
    )
    zotero.highlight = zotero.annotate(number, 2, "Terms keep it safe", "compare with views in Paxos")
    zotero.note(raft, "<p>For the <b>related work</b> chapter.</p>")
    make_pdf(zotero.attach(raft, "appendix.pdf", title="Appendix")[1], ["The proof of leader completeness."])
    other = zotero.item("journalArticle", title="Bread", date="2001", authors=[("", "Bakers' Union")], tags=["food"])
    zotero.bread, zotero.bread_file = zotero.attach(other, "bread.pdf")
    make_pdf(zotero.bread_file, ["Bread is baked at two hundred degrees."])
    zotero.raft, zotero.other = raft, other
    zotero.save()
    return zotero


def test_two_hundred_items_of_all_kinds_are_as_zotero_has_them(tmp_path):
    zotero = Zotero(tmp_path)
    kinds = ["journalArticle", "conferencePaper", "book", "bookSection", "thesis", "report", "preprint", "webpage",
             "presentation", "manuscript", "document", "magazineArticle"]  # fmt: skip
    kind_of = {"journalArticle": "article", "conferencePaper": "inproceedings", "thesis": "phdthesis"}
    kind_of["report"] = "techreport"
    venue_of = {"journalArticle": "publicationTitle", "conferencePaper": "proceedingsTitle", "bookSection": "bookTitle",
                "thesis": "university", "report": "institution", "preprint": "repository"}  # fmt: skip
    group = zotero.group(77, "Lab")
    collections = [zotero.collection(name) for name in ("a/b", "Ünïcode 📚", "x")]
    collections.append(zotero.collection("deeper", collections[0]))
    names = ["a/b", "Ünïcode 📚", "x", "a/b › deeper"]
    wanted = {}
    for number in range(240):
        year = 1990 + number % 30
        kind, library = kinds[number % len(kinds)], group if number % 5 == 0 else 1
        venue = venue_of.get(kind)
        keys = {0: {"citationKey": f"native{number}"}, 1: {"extra": f"PMID: 1\nCitation Key: extra{number}"}}.get(
            number % 3, {}
        )
        item = zotero.item(
            kind, library=library, title=f"Title {number} {{x}} “é”", date=f"{year}-03-00 March {year}",
            authors=[("Ada", f"Byron {number}"), ("", "CERN")], role="author" if kind != "book" else "editor",
            DOI=f"10.1/{number}", abstractNote=f"About {number}.", volume=str(number), pages=f"{number}-{number + 9}",
            collections=[collections[number % 4]], tags=[f"tag {number % 9}", "all"], **keys,
            **({venue: f"Venue {number}"} if venue else {}),
        )  # fmt: skip
        attachment, path = zotero.attach(item, f"{number}.pdf", library=library)
        where = "groups/77" if library == group else "library"
        wanted[path] = {
            "title": f"Title {number} {{x}} “é”", "authors": (f"Ada Byron {number}", "CERN"), "year": year,
            "venue": f"Venue {number}" if venue else "", "doi": f"10.1/{number}", "abstract": f"About {number}.",
            "kind": kind_of.get(kind, ""), "volume": str(number), "pages": f"{number}-{number + 9}", "item_type": kind,
            "collections": (names[number % 4],), "tags": ("all", f"tag {number % 9}"),
            "citation_key": {0: f"native{number}", 1: f"extra{number}"}.get(number % 3, ""),
            "link": f"zotero://open-pdf/{where}/items/{zotero.keys[attachment]}",
        }  # fmt: skip
    zotero.save()
    found = read_zotero(tmp_path)
    assert not found.warnings
    said = {one.path: {name: getattr(one.metadata, name) for name in wanted[one.path]} for one in found.attachments}
    assert said == wanted


def test_the_papers_are_read_where_they_are_with_what_zotero_says(two_papers, tmp_path):
    before = contents(two_papers.folder)
    with opened(tmp_path / "home") as engine:
        result = engine.ingest.zotero(two_papers.folder)
        papers = {paper.file: paper for paper in engine.papers.list()}
        notes = engine.search(SearchRequest("related work", Filters(kinds=("note",)))).hits
        plain = engine.search(SearchRequest("related work and Paxos views")).hits
        within = engine.search(SearchRequest("what is measured?", Filters(collections=("consensus",)))).hits
        _, bib = engine.papers.bibliography()
    assert len(result.added) == 3
    assert contents(two_papers.folder) == before
    raft = papers["raft.pdf"].metadata
    assert (raft.year, raft.venue, raft.citation_key) == (2014, "USENIX ATC", "ongaro2014search")
    assert raft.collections == ("Reading/2024 📚 › Consensus",)
    assert papers["appendix.pdf"].metadata.part == "Appendix"
    assert not result.duplicates
    assert [(hit.chunk.text, hit.chunk.page_start) for hit in notes[:1]] == [("For the related work chapter.", 1)]
    assert {hit.chunk.page_start for hit in notes} == {1, 2}
    assert not [hit for hit in plain if hit.chunk.kind == "note"]
    assert {hit.chunk.file for hit in within} == {"raft.pdf", "appendix.pdf"}
    assert bib.count("@") == 2
    assert "@inproceedings{ongaro2014search," in bib


def test_snapshots_and_books_are_papers_and_a_pdf_comes_first(tmp_path):
    zotero = Zotero(tmp_path / "Zotero")
    one = zotero.item("blogPost", title="On Yeast", authors=[("Ann", "Lee")], date="2020")
    page = "<html><title>Tab</title><script>x()</script><p>Yeast wakes at thirty degrees.</p></html>"
    zotero.attach(one, "yeast.html", content="text/html", how=1, title="Snapshot")[1].write_text(page)
    both = zotero.item("journalArticle", title="On Flour", DOI="10.1/flour")
    zotero.attach(both, "flour.html", content="text/html", how=1, title="Snapshot")[1].write_text("<p>Seen.</p>")
    make_pdf(zotero.attach(both, "flour.pdf")[1], ["Flour keeps for a year."])
    book = zotero.item("book", title="On Ovens", ISBN="1")
    write(zotero.attach(book, "ovens.epub", content="application/epub+zip")[1], "# Heat\n\nAn oven holds heat.\n")
    zotero.save()
    with opened(tmp_path / "home") as engine:
        assert not engine.ingest.zotero(zotero.folder).failures
        papers = {paper.file: paper.metadata for paper in engine.papers.list()}
        hit = engine.search(SearchRequest("When does yeast wake?")).hits[0].chunk
        again = engine.ingest.zotero(zotero.folder)
    assert not (again.added or again.updated)
    assert (hit.file, "x()" in hit.text) == ("yeast.html", False)
    assert (papers["yeast.html"].title, papers["yeast.html"].authors) == ("On Yeast", ("Ann Lee",))
    assert (papers["flour.pdf"].part, papers["flour.pdf"].doi) == ("", "10.1/flour")
    assert (papers["flour.html"].part, papers["flour.html"].doi) == ("Snapshot", "")
    assert papers["ovens.epub"].title == "On Ovens"


def test_an_unchanged_library_opens_no_pdf_and_no_model(two_papers, tmp_path):
    script = (
        "import sys\n"
        "from pathlib import Path\n"
        "from ragscience.core.settings import load_settings\n"
        "from ragscience.engine import Engine\n"
        "opened = []\n"
        "sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == 'open' else None)\n"
        "home = Path(sys.argv[1])\n"
        "with Engine.open(home, load_settings(home=home, offline=True)) as engine:\n"
        "    engine.ingest.zotero(Path(sys.argv[2]))\n"
        "print(sum(path.endswith('.pdf') for path in opened), 'onnxruntime' in sys.modules)\n"
    )
    home = tmp_path / "home"
    home.mkdir()
    command = [sys.executable, "-c", script, str(home), str(two_papers.folder)]
    first, second = (subprocess.check_output(command, cwd=ROOT, text=True).split() for _ in range(2))
    assert (int(first[0]) > 0, first[1]) == (True, "True")
    assert second == ["0", "False"]


def test_what_changes_in_zotero_changes_that_paper_alone(two_papers, tmp_path):
    with opened(tmp_path / "home") as engine:
        engine.ingest.zotero(two_papers.folder)
        two_papers.tag(two_papers.other, "later")
        two_papers.save()
        assert not engine.ingest.zotero(two_papers.folder).updated
        assert engine.papers.find(["bread"])[0].metadata.tags == ("food", "later")

        two_papers.set_field(two_papers.other, "title", "Bread and Heat")
        two_papers.annotate(two_papers.bread, 1, "two hundred degrees", "check this")
        two_papers.save()
        assert [paper.file for paper in engine.ingest.zotero(two_papers.folder).updated] == ["bread.pdf"]
        assert engine.papers.find(["bread"])[0].metadata.title == "Bread and Heat"
        marked = engine.search(SearchRequest("degrees", Filters(kinds=("note",)))).hits[0].chunk
        assert marked.text == "“two hundred degrees” — check this"

        renamed = two_papers.bread_file.with_name("loaf.pdf")
        two_papers.bread_file.rename(renamed)
        path = f"storage:{renamed.name}"
        two_papers.db.execute("UPDATE itemAttachments SET path = ? WHERE itemID = ?", [path, two_papers.bread])
        two_papers.save()
        result = engine.ingest.zotero(two_papers.folder)
        assert not (result.added or result.updated)
        assert [paper.file for paper in engine.papers.find(["Bread and Heat"])] == ["loaf.pdf"]

        two_papers.trash(two_papers.other)
        two_papers.save()
        engine.ingest.zotero(two_papers.folder)
        assert sorted(paper.file for paper in engine.papers.list()) == ["appendix.pdf", "raft.pdf"]


def test_a_run_that_stops_goes_on_with_what_was_to_be_read_again(two_papers, tmp_path):
    home = tmp_path / "home"
    with opened(home) as engine:
        engine.ingest.zotero(two_papers.folder)
    two_papers.set_field(two_papers.other, "title", "Loaves")
    two_papers.save()

    def stop(event):
        if type(event).__name__ == "PlanMade":
            raise KeyboardInterrupt

    with opened(home) as engine, pytest.raises(KeyboardInterrupt):
        engine.ingest.zotero(two_papers.folder, on_event=stop)
    with opened(home) as engine:
        assert [paper.file for paper in engine.ingest.zotero(two_papers.folder).updated] == ["bread.pdf"]
        assert engine.papers.find(["Loaves"])


def test_only_a_collection_or_a_tag(two_papers, commands):
    ran = commands.ingest("zotero", "--data", two_papers.folder, "--tag", "food")
    assert ran.code == 0
    assert [
        line.split("\t")[-1] for line in commands.ingest("list").out.splitlines() if "bread" in line or "raft" in line
    ] == ["bread.pdf"]
    ran = commands.ingest("zotero", "--data", two_papers.folder, "--collection", "nowhere")
    assert (ran.code, "There are Reading/2024 📚 › Consensus, food, to read." in ran.err) == (4, True)


def test_zotero_may_hold_its_lock_and_write(two_papers, tmp_path):
    """As Zotero does: an exclusive lock, kept; and a transaction under way, whose change is not there yet."""
    two_papers.db.execute("PRAGMA locking_mode = EXCLUSIVE")
    two_papers.db.execute("PRAGMA cache_size = 1")
    two_papers.tag(two_papers.other, "committed")
    two_papers.save()
    two_papers.tag(two_papers.other, "not committed")
    for number in range(300):
        two_papers.item("book", title=f"Not committed {number}" * 20)
    before = contents(two_papers.folder)
    found = read_zotero(two_papers.folder)
    assert contents(two_papers.folder) == before
    assert [one.metadata.tags for one in found.attachments][-1] == ("committed", "food")


WRITER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute(f"PRAGMA journal_mode = {sys.argv[2]}")
print("ready", flush=True)
for number in range(1_000_000):
    db.execute("BEGIN")
    db.execute("UPDATE itemDataValues SET value = 'Bread ' || ? WHERE value LIKE 'Bread%'", [number])
    db.execute("UPDATE items SET version = ?", [number])
    db.execute("COMMIT")
"""


@pytest.mark.parametrize("journal", ["DELETE", "WAL"])
def test_what_is_read_while_another_process_writes_is_of_one_moment(two_papers, journal):
    two_papers.db.close()
    command = [sys.executable, "-c", WRITER, str(two_papers.folder / "zotero.sqlite"), journal]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        try:
            for _ in range(5):
                try:
                    found = read_zotero(two_papers.folder)
                except RagScienceError as error:
                    assert "changes while it is read" in error.message
                    continue
                assert len(found.attachments) == 3
                assert found.attachments[-1].metadata.title.startswith("Bread")
        finally:
            writer.kill()
            writer.wait()
    assert len(read_zotero(two_papers.folder).attachments) == 3


def test_killed_at_random_moments_nothing_of_zotero_changes_and_nothing_is_lost(tmp_path):
    zotero = Zotero(tmp_path / "Zotero")
    for number in range(6):
        item = zotero.item("report", title=f"Report {number}", date="2020")
        make_pdf(zotero.attach(item, f"r{number}.pdf")[1], text_of(number))
    zotero.save()
    before, home, chance = contents(zotero.folder), tmp_path / "home", random.Random(5)
    home.mkdir()
    words = ["zotero", "--home", str(home), "--data", str(zotero.folder), "-q"]
    command = [sys.executable, str(ROOT / "ingest.py"), *words]
    for _ in range(4):
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            try:
                run.wait(chance.uniform(0.2, 2.0))
            except subprocess.TimeoutExpired:
                run.send_signal(signal.SIGKILL)
        assert contents(zotero.folder) == before
    subprocess.run(command, check=True)
    with opened(home) as engine:
        titles = sorted(paper.metadata.title for paper in engine.papers.list())
    assert titles == [f"Report {number}" for number in range(6)]


def test_what_is_not_there_and_what_is_strange_is_said_in_a_line(two_papers, tmp_path):
    two_papers.attach(two_papers.other, "lost.pdf")
    two_papers.attach(two_papers.other, "cover.png", content="image/png", how=1)
    standalone, path = two_papers.attach(None, "alone.pdf")
    make_pdf(path, ["A paper without an item."])
    linked = make_pdf(tmp_path / "elsewhere" / "linked.pdf", ["A linked paper."])
    two_papers.attach(two_papers.item("document", title="Linked"), "linked.pdf", how=2, path=str(linked))
    evil = two_papers.item("book", title="Evil", extra="Citation Key: a}, b = {\\input{/etc/passwd}\nDOI: <script>")
    make_pdf(two_papers.attach(evil, "evil.pdf")[1], ["Nothing bad is in here."])
    two_papers.set_field(standalone, "title", "alone")
    for number in range(10_000):
        two_papers.tag(evil, f"tag {number}")
    two_papers.db.execute("UPDATE version SET version = 9999")
    two_papers.db.execute("DROP TABLE itemAnnotations")
    two_papers.save()
    warnings = []
    with opened(tmp_path / "home") as engine:
        result = engine.ingest.zotero(two_papers.folder, on_event=warnings.append)
        papers = {paper.file: paper.metadata for paper in engine.papers.list()}
    assert not result.failures
    assert {"alone.pdf", "linked.pdf", "evil.pdf", "bread.pdf"} <= papers.keys()
    assert papers["evil.pdf"].citation_key == ""
    assert len(papers["evil.pdf"].tags) == 10_000
    warned = [event.text for event in warnings if isinstance(event, Warned)]
    assert sum("9999" in text for text in warned) == 1
    assert sum("annotations cannot be read" in text for text in warned) == 1
    assert sum("1 file of Zotero's is not on this machine: lost.pdf." in text for text in warned) == 1


@pytest.mark.parametrize("harm", ["cut", "empty", "text", "absent"])
def test_a_database_that_cannot_be_used_is_one_clear_line(two_papers, commands, harm):
    two_papers.db.close()
    database = two_papers.folder / "zotero.sqlite"
    content = database.read_bytes()
    {
        "cut": lambda: database.write_bytes(content[: len(content) // 2]),
        "empty": lambda: database.write_bytes(b""),
        "text": lambda: database.write_text("not a database" * 200),
        "absent": database.unlink,
    }[harm]()
    ran = commands.ingest("zotero", "--data", two_papers.folder)
    assert ran.code != 0
    assert "error: " in ran.err
    assert "Traceback" not in ran.err
    assert "--data" in ran.err


def test_the_folder_is_found_as_a_profile_names_it(two_papers, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert data_folder() == tmp_path / "Zotero"
    moved = tmp_path / "my data"
    two_papers.db.close()
    shutil.move(two_papers.folder, moved)
    profile = tmp_path / ".zotero/zotero/abc.default"
    profile.mkdir(parents=True)
    lines = ["// Mozilla User Preferences", f'user_pref("extensions.zotero.dataDir", "{moved}");', 'user_pref("x", tr']
    (profile / "prefs.js").write_text("\n".join(lines))
    assert data_folder() == moved


def test_keys_of_better_bibtex(two_papers):
    with sqlite3.connect(two_papers.folder / "better-bibtex.sqlite") as db:
        db.execute("CREATE TABLE citationkey (itemID INT, itemKey TEXT, libraryID INT, citationKey TEXT, pinned INT)")
        db.execute(
            "INSERT INTO citationkey VALUES (1, ?, 1, 'bakers2001bread', 0)", [two_papers.keys[two_papers.other]]
        )
    found = {one.path.name: one.metadata.citation_key for one in read_zotero(two_papers.folder).attachments}
    assert found["bread.pdf"] == "bakers2001bread"


def test_what_was_marked_is_the_readers_and_no_papers(two_papers, commands):
    commands.ingest("zotero", "--data", two_papers.folder)
    said = commands.query("What have I marked about Paxos?").out
    assert "You wrote or marked about “Paxos”:" in said
    assert "“Terms keep it safe” — compare with views in Paxos (raft.pdf, p.2)" in said
    assert "in no text of the 3 papers" in commands.query("Which papers mention Paxos?").out
    assert "no notes or marks of yours in Bread" in commands.query("What did I highlight in the bread paper?").out


def test_a_citation_key_is_a_name_of_its_paper(two_papers, commands):
    commands.ingest("zotero", "--data", two_papers.folder)
    assert json.loads(commands.ingest("show", "Ongaro2014search", "--json").out)["file"] == "raft.pdf"
    assert "raft.pdf" in commands.query("Who sends heartbeats?", "--paper", "ongaro2014search").out
    assert commands.ingest("show", "ongaro2014").code != 0
