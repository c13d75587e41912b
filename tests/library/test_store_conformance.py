"""Every store keeps and finds the same: each change is made in one of the kind and in the embedded store, and all that
can be read of both is compared after it.
"""

import json
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from ragscience.core.errors import LibraryBusy, LibraryUnavailable, NothingFound, RagScienceError
from ragscience.core.records import Chunk, Document, Element, EmbedderIdentity, Filters, Line, Metadata, Page
from ragscience.core.tokenizing import tokenize
from ragscience.library import seen_files
from ragscience.library.store import Home, keyword_scores, known_files, require_identity, text_hash
from ragscience.models.maxsim import CODE_BYTES
from tests.conftest import ROOT
from tests.library.making import CHUNKER, DIMENSION, EMBEDDER, Made, Place, add, new_paper, numbered_paper, unit_rows

QUESTIONS = ("attention energy", "Cas9 protein of the cell", "model", "28.4 GPT-3 lattice query", "nothing here")
FILTERS = (
    Filters(),
    Filters(kinds=("all",)),
    Filters(kinds=("reference",)),
    Filters(kinds=("Table", "text")),
    Filters(pages=(2, 3)),
    Filters(sections=("method",)),
    Filters(papers=("rich-1",)),
    Filters(papers=("rich-1",), kinds=("all",)),
    Filters(papers=("rich-2",), pages=(1, 2), sections=("O'Neil",)),
    Filters(years=(2016, 2018)),
    Filters(authors=("muller",)),
    Filters(paper_ids=(2, 3)),
)


def rich_paper(number):
    """A paper with all that a paper may have: sections, kinds, boxes, elements, metadata, token vectors."""
    rng = np.random.default_rng(1000 + number)
    parts = [
        ("text", "1 Method of O'Neil", f"attention {number} of the model is a gradient in energy"),
        ("table", "2 Results", f"| Cas9 | 28.4 |\n| GPT-3 | \udcff {number} |"),
        ("text", "2 Results", f"lattice query number {number} of the quantum cell"),
        ("reference", "References", f"[{number}] Müller, A. Protein and genome."),
    ]
    pages, chunks, start = [], [], 0
    for ordinal, (kind, section, text) in enumerate(parts):
        end = start + len(text)
        lines = (Line(start, end, (72.0, 100.5, 300.0, 112.5)),)
        pages.append(Page(ordinal + 1, start, end, "could not be read: toy" if ordinal == 2 else "", lines, "head 7"))
        chunks.append(Chunk(ordinal, text, start, end, ordinal + 1, ordinal + 1, section, kind, f"Rich › {section}"))
        start = end + 1
    elements = tuple(
        Element(chunk.start, chunk.end, "text", chunk.page_start, 1, chunk.section, (1, 2, 3, 4)) for chunk in chunks
    )
    metadata = Metadata("A rich one", ("Anna Müller", "B O'Neil"), 2015 + number, "Venue", "10.1/x", "", {"title": 0.9})
    document = Document("\n".join(text for _, _, text in parts), tuple(pages), "Rich", ("warned",), elements, metadata)
    tokens = {
        text_hash(chunk.searched): rng.integers(0, 256, (5 + chunk.ordinal, CODE_BYTES), np.uint8)
        for chunk in chunks[:3]
    }
    path, md5, vectors = f"/papers/rich-{number}.pdf", f"{number:032x}", unit_rows(rng, len(chunks))
    made = new_paper(Made(path, md5, document, tuple(chunks), vectors))
    return replace(made, modified_ns=1_700_000_000_123_456_789, tokens=tokens, added_at="2026-01-02T03:04:05+00:00")


def everything(library):
    """All that the store's methods say of a library, but for the random id and what is of its form alone."""
    papers = library.papers()
    ids = [chunk.chunk_id for paper in papers for chunk in library.paper_chunks(paper.paper_id)]
    dimension = library.about.embedder.dimension if library.about.embedder else 1
    vector = unit_rows(np.random.default_rng(7), 1, dimension)[0]
    found = {
        "papers": papers,
        "counts": (library.about.papers, library.about.chunks, library.about.version),
        "identity": (library.about.embedder, library.about.chunker),
        "files": known_files(library),
        "by md5": [library.paper(md5=paper.md5) for paper in papers],
        "by path": [library.paper(path=paper.path) for paper in papers],
        "pages": [library.contents(paper.paper_id).pages for paper in papers],
        "page": [library.contents(paper.paper_id).page(1) for paper in papers],
        "texts of pages": [library.contents(paper.paper_id).text(1) for paper in papers],
        "boxes": [library.contents(paper.paper_id).boxes(1, 3, 9) for paper in papers],
        "elements": [library.contents(paper.paper_id).elements for paper in papers],
        "fingerprints": library.fingerprints(),
        "passages": library.chunks([*reversed(ids), 10_000]),
        "texts": list(library.texts(3)),
        "vectors": [array.tolist() for array in library.vectors.of()],
        "some vectors": [array.tolist() for array in library.vectors.of(ids[1:3])],
        "by hash": lists(library.vectors.by_hash([text_hash("x"), *hashes(library)])),
        "tokens": lists(library.tokens.of(ids)),
        "without tokens": (library.tokens.not_kept(), library.tokens.missing()),
        "token bytes": library.tokens.size_bytes() >= sum(each.nbytes for each in library.tokens.of(ids).values()),
        "left out": seen_files.removed(library),
        "sections": sorted(library.section_names()),
        "graph": (library.graph.rows(), library.graph.read_passages()),
        "stable": (library.graph.stable_ids(), library.graph.pending("toy", "1"), bool(library.graph.state())),
        "sources": library.sources.all(),
        "verified": library.verify(),
    }
    found["scores"] = [keyword_scores(library, question, ids).tolist() for question in QUESTIONS]
    for filters in FILTERS:
        try:
            allowed = library.select(filters)
        except NothingFound as nothing:
            found["select", filters] = nothing.message, nothing.fix
            continue
        found["select", filters] = None if allowed is None else allowed.tolist()
        found["dense", filters] = pairs(library.dense.search(vector, 5, allowed)) if library.about.embedder else None
        for question in QUESTIONS if filters == Filters() else QUESTIONS[:1]:
            found["keywords", question, filters] = pairs(library.keywords.search(question, 4, allowed))
            known = library.keywords.frequencies(tokenize(question))
            having = {term: library.keywords.having([term], allowed).size for term in known.having}
            found["counts", question, filters] = known.passages, known.having, having
    if library.about.embedder:
        found["dense scores"] = library.dense.scores(vector, [*ids, 10_000]).tolist()
    return found


def lists(arrays):
    return {key: each.tolist() for key, each in arrays.items()}


def hashes(library):
    return [text_hash(chunk.searched) for paper in library.papers() for chunk in library.paper_chunks(paper.paper_id)]


def pairs(found):
    """As lists; the scores of FTS5 and of numpy differ in their last bits."""
    ids, scores = found
    return [ids.tolist(), scores.round(9).tolist()]


def changes():
    """By name, changes of a library, in an order in which each finds what it needs."""
    first, second = rich_paper(1), rich_paper(2)
    again = replace(rich_paper(3), path=second.path, replaces=[2])
    other = EmbedderIdentity("embedded", "other", "fedc", 8)

    def new_vectors(library):
        rng = np.random.default_rng(5)
        batches = [(ids, unit_rows(rng, len(ids), 8), {}) for ids, _ in library.texts(3)]
        library.vectors.replace(other, batches)

    def of_graph(library):
        library.graph.put("toy", "1", [(1, '{"it\'s": 1}'), (2, "{}"), (10_000, "{}")])
        library.graph.put("toy", "2", [(2, '{"new": true}')])
        library.graph.put("other", "1", [(1, "[]")], alone=True)

    def out_and_back(library):
        (paper,) = [paper for paper in library.papers() if paper.md5 == first.md5]
        seen_files.note_removed(library, [paper])
        library.remove_papers([paper.paper_id, 99])

    def back(library):
        library.add_paper(replace(first, path="/o/1.pdf"))
        seen_files.forget_removed(library, [first.md5])

    theirs = Metadata("Theirs", url="https://a.b/c", abstract="A")
    return {
        "identity": lambda library: library.set_identity(EMBEDDER, CHUNKER),
        "a paper": lambda library: library.add_paper(first),
        "papers": lambda library: [library.add_paper(second), library.add_paper(rich_paper(4))],
        "of the graph": of_graph,
        "sources": lambda library: library.sources.put(first.md5, theirs),
        "a new version": lambda library: library.add_paper(again),
        "another name": lambda library: library.rename_papers([(1, "/papers/it's.pdf", 5)]),
        "changed places": lambda library: library.rename_papers([(1, second.path, 6), (4, "/papers/it's.pdf", 7)]),
        "out": out_and_back,
        "and back": back,
        "tokens": lambda library: library.tokens.put(
            {text_hash(first.chunks[3].searched): np.ones((2, CODE_BYTES), np.uint8)}
        ),
        "indexes": lambda library: library.refresh_indexes(),
        "all indexes": lambda library: library.refresh_indexes(anew=True),
        "no graph": lambda library: library.graph.clear("toy"),
        "other vectors": new_vectors,
        "one goes": lambda library: library.remove_papers([library.papers()[0].paper_id]),
    }


def listed(home):
    """The papers of the ledger, but for when they were added."""
    files = json.loads(home.ledger.read_text())["files"]
    return {md5: {**entry, "added_at": ""} for md5, entry in files.items()}


def test_each_change_means_the_same_in_each_store(place, tmp_path):
    oracle = Place(Home(tmp_path / "oracle"), "vectorstore")
    with oracle.open(writing=True) as expected, place.open(writing=True) as library:
        for name, change in changes().items():
            change(expected), change(library)
            assert everything(library) == everything(expected), name
        # What a reader of another home sees, and the next writer.
        with place.open(Home(tmp_path / "elsewhere") if place.uri != "vectorstore" else None) as reader:
            assert everything(reader) == everything(expected)
    assert listed(place.home) == listed(oracle.home)
    with place.open(writing=True) as library, oracle.open() as expected:
        assert everything(library) == everything(expected)


def test_a_place_without_a_library_is_empty_and_stays_untouched(place):
    with place.open() as library:
        about = library.about
        assert (about.papers, about.chunks, about.version, about.library_id) == (0, 0, 0, "")
        assert library.papers() == library.chunks([1]) == library.paper_chunks(1) == []
        assert list(library.contents(1).pages) == []
        assert library.dense.search(np.zeros(3, np.float32), 3, None)[0].size == 0
        assert library.keywords.search("word", 3, None)[0].size == 0
        assert library.select(Filters()) is None
        with pytest.raises(NothingFound):
            library.contents(1).page(1)
        with place.open(writing=True) as writer:
            add(writer, numbered_paper(1))
        assert library.about.papers == 1
    assert not (place.home.root.parent / "elsewhere").exists()


def test_a_snapshot_sees_one_generation_while_a_writer_changes_everything(place):
    with place.open(writing=True) as writer:
        writer.set_identity(EMBEDDER, CHUNKER)
        for number in (1, 2):
            writer.add_paper(rich_paper(number))

        def change_all():
            writer.add_paper(replace(rich_paper(3), replaces=[1]))
            writer.remove_papers([2])
            writer.refresh_indexes(anew=True)

        with place.open() as reader:
            with reader.snapshot():
                before = everything(reader)
                changed = threading.Thread(target=change_all)
                changed.start()
                changed.join()
                assert everything(reader) == before
            after = everything(reader)
        assert after == everything(writer)
        assert [paper.md5 for paper in after["papers"]] == [rich_paper(3).md5]


def test_a_reader_that_stays_open_lists_and_filters_the_library_as_it_is_now(place):
    with place.open(writing=True) as writer, place.open() as reader:
        writer.set_identity(EMBEDDER, CHUNKER)
        for number in range(3):
            writer.add_paper(rich_paper(number))
            assert len(reader.papers()) == number + 1
            assert reader.select(Filters(kinds=("table",))).size == number + 1
            assert reader.select(Filters(years=(2015, 2017), kinds=("all",))).size == 4 * (number + 1)
        abstract = "as the source has it"
        writer.sources.put(reader.papers()[0].md5, Metadata(title="A rich one", abstract=abstract, url="https://a.b/c"))
        assert [paper.metadata.abstract for paper in reader.papers()] == [abstract, "", ""]
        reader.papers().clear()  # the list is the caller's own
        writer.remove_papers([reader.papers()[0].paper_id])
        assert [paper.metadata.abstract for paper in reader.papers()] == ["", ""]
        assert reader.select(Filters(kinds=("table",))).size == 2


def test_what_does_not_belong_is_refused_and_changes_nothing(place):
    with place.open(writing=True) as library:
        with pytest.raises(RagScienceError, match="embedder"):
            library.add_paper(rich_paper(1))
        library.set_identity(EMBEDDER, CHUNKER)
        library.add_paper(rich_paper(1))
        before = everything(library)
        number = library.about.version
        for wrong in (
            rich_paper(1),
            replace(rich_paper(2), path=rich_paper(1).path),
            replace(rich_paper(2), vectors=np.ones((4, DIMENSION), np.float32)),
            replace(rich_paper(2), vectors=unit_rows(np.random.default_rng(1), 4, 5)),
        ):
            with pytest.raises(RagScienceError):
                library.add_paper(wrong)
        with pytest.raises(LibraryUnavailable, match="were made by"):
            library.set_identity(EmbedderIdentity("embedded", "other", "fedc", 8), CHUNKER)
        with pytest.raises(LibraryUnavailable):
            require_identity(library, EMBEDDER, "another chunker")
        with pytest.raises(LibraryUnavailable, match="dimensions"):
            library.dense.search(np.ones(3, np.float32), 3, None)
        with pytest.raises(RagScienceError, match="got no new vector"):
            library.vectors.replace(EMBEDDER, [])
        assert library.about.version == number
        assert everything(library) == before
    with place.open() as reader, pytest.raises(RuntimeError):
        reader.add_paper(rich_paper(2))


def test_a_second_writer_of_the_home_is_refused(place):
    with place.open(writing=True), pytest.raises(LibraryBusy):
        place.open(writing=True)


def test_of_two_writers_of_two_homes_one_is_refused_and_nothing_is_mixed(place, tmp_path):
    if place.uri == "vectorstore":
        pytest.skip("an embedded library is of one home")
    with place.open(writing=True) as one, place.open(Home(tmp_path / "second"), writing=True) as other:
        add(one, numbered_paper(0))
        results = []

        def write(library, numbers):
            for number in numbers:
                try:
                    add(library, numbered_paper(number))
                    results.append(number)
                except LibraryBusy:
                    pass

        threads = [
            threading.Thread(target=write, args=(one, range(1, 8))),
            threading.Thread(target=write, args=(other, range(8, 15))),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # A refused writer may go on: what it adds then is there, and what was refused is not.
        add(one, numbered_paper(20))
        add(other, numbered_paper(21))
    with place.open() as library:
        expected = [numbered_paper(number) for number in {0, *results, 20, 21}]
        assert sorted(known_files(library)) == sorted(made.path for made in expected)
        assert library.about.chunks == sum(len(made.chunks) for made in expected)
        assert library.verify() == []
        ids = [chunk.chunk_id for paper in library.papers() for chunk in library.paper_chunks(paper.paper_id)]
        assert len(set(ids)) == len(ids) == library.about.chunks
    assert results


@pytest.mark.kill
def test_a_killed_writer_loses_at_most_the_paper_in_hand(place):
    command = [sys.executable, "-m", "tests.library.making", str(place.home.root), "0", "12", "99", place.uri]
    told = 0
    for stop in (2, 3):
        said: list[str] = []
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            for line in process.stdout:
                said.append(line)
                if sum(one.startswith("added") for one in said) == stop:
                    break
            process.send_signal(signal.SIGKILL)
            said += process.stdout
        told += sum(line.startswith("added") and line.endswith("\n") for line in said)
        with place.open() as library:
            assert told <= library.about.papers <= told + 2
            assert_whole(library, library.about.papers)
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    with place.open() as library:
        assert_whole(library, 12)


def assert_whole(library, count):
    papers, expected = library.papers(), [numbered_paper(number) for number in range(count)]
    assert [paper.path for paper in papers] == [made.path for made in expected]
    for made, paper in zip(expected, papers, strict=True):
        assert [chunk.text for chunk in library.paper_chunks(paper.paper_id)] == [chunk.text for chunk in made.chunks]
    assert library.vectors.of()[0].size == library.about.chunks == sum(len(made.chunks) for made in expected)
    assert library.verify() == []
