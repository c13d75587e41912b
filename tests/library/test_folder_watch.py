"""What a watch makes of what it sees: by a clock of the test's own, then on real folders."""

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.library.seen_files import Folder, FolderState, looks_whole
from tests.pdf_factory import make_pdf

A, B = Path("/papers/a.pdf"), Path("/papers/b.pdf")
MARKS = st.sampled_from([(1, 1, 1, 1), (2, 2, 2, 1), (3, 3, 3, 2)])
FOLDERS = st.dictionaries(st.sampled_from([A, B, Path("/papers/c.pdf")]), MARKS)


@given(looks=st.lists(st.tuples(FOLDERS, st.floats(0, 5), st.booleans())), known=st.sets(st.sampled_from([A, B])))
def test_whatever_happens_in_the_end_everything_was_given_out(looks, known):
    """A library that does the work as it is told ends with what lies in the folder."""
    state = FolderState(known, settle_seconds=2.0, is_whole=lambda path: True)
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
    for name in ("c.pdf.part", "d.crdownload", "~$e.pdf", ".f.pdf", ".trash/g.pdf", "notes.rst"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"%PDF-")
    (tmp_path / "folder.pdf").mkdir()
    (tmp_path / "dangling.pdf").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe.pdf")
    found = Folder(tmp_path).files()
    assert set(found) == {tmp_path / "a.pdf", tmp_path / "deep" / "er" / "b.PDF"}
    stat = (tmp_path / "a.pdf").stat()
    assert found[tmp_path / "a.pdf"] == (stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)


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
