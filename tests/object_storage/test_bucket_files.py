"""The objects' names and states: which path an object has, and when it has to be downloaded again."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from ragscience.library.bucket import Bucket, StoredObject
from ragscience.library.object_index import ObjectIndex, last_address
from ragscience.library.object_storage import BucketFiles
from ragscience.library.paper_cache import PaperCache
from ragscience.library.store import Home
from tests.conftest import ROOT, copied
from tests.object_storage.conftest import ADDRESS

HONEY = StoredObject("honey.pdf", 10, "0" * 32, 10**9)
NAMES = [
    "a.pdf",
    "b/a.pdf",
    "//a.pdf",
    "/a.pdf",
    "b//a.pdf",
    "%/a.pdf",
    "%%.pdf",
    "b c+%20é.pdf",
    "A.pdf",
    "n" * 400 + ".pdf",
]
NAMES += ["e\u0301.pdf", "\u00e9.pdf", "new\nline.pdf", "back\\slash.pdf", " .pdf", "b/ /a.PDF"]


@pytest.fixture
def files(tmp_path):
    return BucketFiles(Home(tmp_path / "home"), Bucket(ADDRESS), PaperCache(tmp_path / "cache", 1000))


def test_without_a_bucket_nothing_of_it_is_loaded(three_papers, tmp_path):
    home = copied(three_papers, tmp_path / "home")
    code = (
        "import runpy, sys\n"
        "for words in (['ingest.py', 'sync'], ['query.py', 'ask', 'fog'], ['ingest.py', 'doctor', '--fast']):\n"
        "    sys.argv = words\n"
        "    try:\n        runpy.run_path(words[0], run_name='__main__')\n"
        "    except SystemExit as ended:\n        assert not ended.code, (words, ended.code)\n"
        "print(*sys.modules)"
    )
    environment = {**os.environ, "RAG_HOME": str(home)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.splitlines()[-1].split()
    assert "ragscience.library.ingestion" in loaded
    assert [name for name in loaded if name.startswith(("botocore", "ragscience.library.object_storage"))] == []


def test_each_name_has_a_path_of_its_own_within_papers(files, tmp_path):
    paths = [files.path_of(name) for name in NAMES]
    assert len(set(paths)) == len(NAMES)
    assert all(path.is_relative_to(tmp_path / "home" / "papers") for path in paths)
    assert [files.name_of(path) for path in paths] == NAMES
    assert [files.shown(str(path)) for path in paths] == [f"{ADDRESS}/{name}" for name in NAMES]


@pytest.mark.parametrize(
    "name", ["../a.pdf", "b/../../a.pdf", "./a.pdf", ".a.pdf", ".trash/a.pdf", "b/..pdf/a.pdf", "a.txt"]
)
def test_names_that_lead_out_and_hidden_ones_are_no_papers(files, name, monkeypatch):
    listed = [replace(HONEY, name=each) for each in (name, "good.pdf")]
    monkeypatch.setattr(Bucket, "objects", lambda *_: iter(listed))
    assert [path.name for path in files.listing()] == ["good.pdf"]


def test_files_elsewhere_are_not_the_buckets(files, tmp_path):
    for path in (tmp_path / "elsewhere.pdf", tmp_path / "home" / "papers-2" / "a.pdf"):
        assert files.name_of(path) == ""
        assert files.shown(str(path)) == str(path)


@pytest.mark.parametrize("change", [{"etag": "1" * 32}, {"size_bytes": 11}, {"modified_ns": 2 * 10**9}])
def test_an_object_that_was_written_again_is_read_again(tmp_path, change):
    index = ObjectIndex(Home(tmp_path), ADDRESS)
    index.put(HONEY, "f" * 32)
    index.save()
    again = ObjectIndex(Home(tmp_path), ADDRESS)
    assert again.md5(HONEY) == "f" * 32
    assert again.md5(replace(HONEY, **change)) == ""
    again.list_again([replace(HONEY, **change)])
    assert again.md5(HONEY) == ""


def test_what_was_learnt_of_another_bucket_is_not_believed(tmp_path):
    index = ObjectIndex(Home(tmp_path), ADDRESS)
    index.put(HONEY, "f" * 32)
    index.save()
    assert ObjectIndex(Home(tmp_path), "s3://other").md5(HONEY) == ""
    assert last_address(Home(tmp_path)) == ADDRESS


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-20], lambda text: text.replace("f" * 32, "e" * 32), lambda _: "[]"]
)
def test_a_damaged_index_is_an_empty_one(tmp_path, damage):
    index = ObjectIndex(Home(tmp_path), ADDRESS)
    index.put(HONEY, "f" * 32)
    index.save()
    path = Home(tmp_path).objects
    path.write_text(damage(path.read_text()))
    assert ObjectIndex(Home(tmp_path), ADDRESS).names() == []
