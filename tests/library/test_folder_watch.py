"""What a watch makes of what it sees: by a clock of the test's own, then on real folders."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.library.seen_files import (
    GONE_FACTOR,
    UNFINISHED_FACTOR,
    Folder,
    FolderState,
    Work,
    looks_whole,
)
from tests.pdf_factory import make_pdf

A, B = Path("/papers/a.pdf"), Path("/papers/b.pdf")
OLD, NEW = (10, 1, 1, 7), (20, 2, 2, 7)
NOTHING = Work()


def state_of(*known, settle=2.0, is_whole=lambda path: True):
    return FolderState(known, settle_seconds=settle, is_whole=is_whole)


def test_a_file_is_given_out_once_when_it_has_settled():
    state = state_of()
    assert state.look({A: OLD}, 100) == NOTHING
    assert state.look({A: OLD}, 101.9) == NOTHING
    assert state.look({A: OLD}, 102) == Work((A,))
    assert state.look({A: OLD}, 200) == NOTHING


def test_a_file_that_is_being_written_settles_anew_with_each_change():
    state = state_of()
    state.look({A: (1, 1, 1, 7)}, 0)
    for now in range(1, 9):
        assert state.look({A: (1 + now, 1, 1, 7)}, now) == NOTHING
    assert state.look({A: (9, 1, 1, 7)}, 10) == Work((A,))


@pytest.mark.parametrize("touched", [(11, 1, 1, 7), (10, 2, 1, 7), (10, 1, 2, 7), (10, 1, 1, 8)])
def test_whatever_is_touched_of_a_file_makes_it_news(touched):
    state = state_of()
    state.look({A: OLD}, 0)
    assert state.look({A: OLD}, 2) == Work((A,))
    assert state.look({A: touched}, 3) == NOTHING
    assert state.look({A: touched}, 5) == Work((A,))


def test_at_the_first_look_old_papers_need_not_settle():
    state, second = state_of(), 10**9
    files = {A: (1, 90 * second, 1, 1), B: (1, 100 * second, 1, 2)}
    assert state.look(files, 5, wall_ns=100 * second) == Work((A,))
    assert state.look(files, 7) == Work((B,))


def test_a_file_from_the_future_settles_as_any_other():
    state = state_of()
    assert state.look({A: (1, 10**18, 1, 1)}, 5, wall_ns=10**9) == NOTHING
    assert state.look({A: (1, 10**18, 1, 1)}, 7) == Work((A,))


def test_what_does_not_look_whole_waits_longer_and_is_then_taken_as_it_is():
    state = state_of(is_whole=lambda path: path == B)
    assert state.look({A: OLD, B: OLD}, 0) == NOTHING
    assert state.look({A: OLD, B: OLD}, 2) == Work((B,))
    assert state.look({A: OLD, B: OLD}, 2 * UNFINISHED_FACTOR - 0.1) == NOTHING
    assert state.look({A: OLD, B: OLD}, 2 * UNFINISHED_FACTOR) == Work((A,))


def test_what_is_gone_counts_as_gone_after_a_while_and_once():
    state = state_of(B)
    assert state.look({}, 0) == NOTHING
    assert state.look({}, 2 * GONE_FACTOR) == Work(gone=(B,))
    assert state.look({}, 100) == NOTHING


def test_a_file_that_is_saved_by_deleting_and_writing_it_anew_is_never_gone():
    state = state_of()
    state.look({A: OLD}, 0)
    state.look({A: OLD}, 2)
    assert state.look({}, 3) == NOTHING
    assert state.look({A: NEW}, 4) == NOTHING
    assert state.look({A: NEW}, 6) == Work((A,))
    assert state.look({A: NEW}, 60) == NOTHING


def test_of_a_renamed_file_the_new_name_comes_before_the_old_one_goes():
    state = state_of(A)
    state.look({A: OLD}, 0)
    state.look({A: OLD}, 2)
    state.look({}, 3)  # a look that saw neither
    state.look({B: OLD}, 4)
    assert state.look({B: OLD}, 6) == Work((B,))
    assert state.look({B: OLD}, 7) == Work(gone=(A,))


def test_work_that_could_not_be_done_is_given_out_again():
    state = state_of(B)
    state.look({A: OLD}, 0)
    work = state.look({A: OLD}, 10)
    assert work == Work((A,), (B,))
    state.again(work)
    assert state.look({A: OLD}, 10.5) == work
    state.again(work)
    assert state.look({B: OLD}, 11) == NOTHING  # meanwhile the one went and the other came back
    assert state.look({B: OLD}, 15) == Work((B,), (A,))


MARKS = st.sampled_from([(1, 1, 1, 1), (2, 2, 2, 1), (3, 3, 3, 2)])
FOLDERS = st.dictionaries(st.sampled_from([A, B, Path("/papers/c.pdf")]), MARKS)


@given(looks=st.lists(st.tuples(FOLDERS, st.floats(0, 5), st.booleans())), known=st.sets(st.sampled_from([A, B])))
def test_whatever_happens_in_the_end_everything_was_given_out(looks, known):
    """A library that does the work as it is told ends with what lies in the folder."""
    state = state_of(*known)
    library = dict.fromkeys(known, None)
    now = 0.0
    final = looks[-1][0] if looks else {}
    for files, wait, fails in [*looks, (final, 100, False), (final, 100, False)]:
        now += wait
        work = state.look(files, now)
        assert set(work.read) <= files.keys()
        assert not set(work.gone) & files.keys()
        if fails:
            state.again(work)
            continue
        for path in work.read:
            library[path] = files[path]
        for path in work.gone:
            library.pop(path, None)
    assert library == final


def test_a_whole_pdf_is_told_from_a_part_of_one(tmp_path):
    path = make_pdf(tmp_path / "a.pdf", ["One page"] * 8)
    content = path.read_bytes()
    assert looks_whole(path)
    for cut in (0, 3, len(content) // 2, len(content) - 10):
        path.write_bytes(content[:cut])
        assert not looks_whole(path), cut
    path.write_bytes(b"<html>not found</html>" + content[-40:])
    assert not looks_whole(path)
    path.write_bytes(b"\n" * 100 + content + b"\n" * 1000)
    assert looks_whole(path)
    assert not looks_whole(tmp_path / "none.pdf")


@pytest.mark.parametrize("ending", [".part", ".crdownload"])
def test_a_loader_beside_a_file_says_that_it_is_not_whole(tmp_path, ending):
    path = make_pdf(tmp_path / "a.pdf", ["One page"])
    beside = tmp_path / f"a.pdf{ending}"
    beside.touch()
    assert not looks_whole(path)
    beside.unlink()
    assert looks_whole(path)


def test_a_folder_gives_the_pdfs_in_it_and_nothing_else(tmp_path):
    for name in ("a.pdf", "deep/er/b.PDF"):
        make_pdf(tmp_path / name, ["Text"])
    for name in ("c.pdf.part", "d.crdownload", "~$e.pdf", ".f.pdf", ".trash/g.pdf", "notes.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"%PDF-")
    (tmp_path / "folder.pdf").mkdir()
    (tmp_path / "dangling.pdf").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.pdf")
    found = Folder(tmp_path).files()
    assert set(found) == {tmp_path / "a.pdf", tmp_path / "deep" / "er" / "b.PDF"}
    stat = (tmp_path / "a.pdf").stat()
    assert found[tmp_path / "a.pdf"] == (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)


def test_a_folder_that_is_not_there_has_no_answer(tmp_path):
    folder = Folder(tmp_path / "papers")
    assert folder.files() is None
    folder.path.mkdir()
    assert folder.files() == {}
    folder.path.rmdir()
    folder.path.write_text("a file")
    assert folder.files() is None


def test_an_empty_place_on_another_disk_is_a_disk_that_went_away(tmp_path):
    shared = Path("/dev/shm")
    if not shared.is_dir() or shared.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("needs a second file system")
    place = shared / f"ragscience-{os.getpid()}"
    place.mkdir()
    link = tmp_path / "papers"
    try:
        make_pdf(tmp_path / "disk" / "a.pdf", ["Text"])
        link.symlink_to(tmp_path / "disk")
        folder = Folder(link)
        assert len(folder.files()) == 1
        link.unlink()
        link.symlink_to(place)
        assert folder.files() is None
        make_pdf(place / "b.pdf", ["Text"])
        assert len(folder.files()) == 1
    finally:
        shutil.rmtree(place)
