"""The objects' names and states: which path an object has, and when it has to be downloaded again."""

import errno
import os
import subprocess
import sys
from dataclasses import replace
from hashlib import md5

import pytest

from ragscience.core.errors import FileProblem, RagScienceError
from ragscience.library import bucket as bucket_files
from ragscience.library.bucket import Bucket, BucketFiles, StoredObject, last_address
from ragscience.library.store import Home
from tests.conftest import ROOT, copied
from tests.library.s3.conftest import ADDRESS

HONEY = StoredObject("honey.pdf", 10, "0" * 32, 10**9)
NAMES = [
    "a.pdf",
    "b/a.pdf",
    "%/a.pdf",
    "%%.pdf",
    "b c+%20é.pdf",
    "A.pdf",
    "n" * 400 + ".pdf",
]
NAMES += ["e\u0301.pdf", "\u00e9.pdf", "new\nline.pdf", "back\\slash.pdf", " .pdf", "b/ /a.PDF"]


def files_of(tmp_path, address=ADDRESS):
    return BucketFiles(Home(tmp_path / "home"), Bucket(address), tmp_path / "cache")


@pytest.fixture
def files(tmp_path):
    return files_of(tmp_path)


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
    assert [name for name in loaded if name.startswith(("botocore", "ragscience.library.bucket"))] == []


def test_each_name_has_a_path_of_its_own_within_papers(files, tmp_path):
    paths = [tmp_path / "home" / "papers" / name for name in NAMES]
    assert len(set(paths)) == len(NAMES)
    assert all(path.is_relative_to(tmp_path / "home" / "papers") for path in paths)
    assert [files.name_of(path) for path in paths] == NAMES
    assert [files.shown(str(path)) for path in paths] == [f"{ADDRESS}/{name}" for name in NAMES]


@pytest.mark.parametrize(
    "name",
    [
        "//a.pdf",
        "/a.pdf",
        "b//a.pdf",
        "../a.pdf",
        "b/../../a.pdf",
        "./a.pdf",
        ".a.pdf",
        ".trash/a.pdf",
        "b/..pdf/a.pdf",
        "a.txt",
    ],
)
def test_names_that_lead_out_and_hidden_ones_are_no_papers(files, name, monkeypatch):
    listed = [replace(HONEY, name=each) for each in (name, "good.pdf")]
    monkeypatch.setattr(Bucket, "objects", lambda *_: listed)
    assert [path.name for path in files.listing()] == ["good.pdf"]


def test_files_elsewhere_are_not_the_buckets(files, tmp_path):
    for path in (tmp_path / "elsewhere.pdf", tmp_path / "home" / "papers-2" / "a.pdf"):
        assert files.name_of(path) == ""
        assert files.shown(str(path)) == str(path)


class Kept(Bucket):
    """A bucket of one object, whose downloads are counted."""

    def __init__(self, found, content=b"%PDF"):
        super().__init__(ADDRESS)
        self.found, self.content, self.downloads = found, content, 0

    def objects(self, *_):
        return [self.found]

    def head(self, name):
        return self.found

    def download(self, wanted, file):
        self.downloads += 1
        file.write(self.content)
        return md5(self.content).hexdigest()


def learnt(tmp_path, bucket):
    """The MD5 of the object as a run finds it out, and how many downloads that took."""
    before, files = bucket.downloads, BucketFiles(Home(tmp_path / "home"), bucket, tmp_path / "cache")
    (path,) = files.find([Home(tmp_path / "home").papers]).pdfs
    found = files.state(path).md5
    files.save()
    return found, bucket.downloads - before


@pytest.mark.parametrize("change", [{"etag": "1" * 32}, {"size_bytes": 11}, {"modified_ns": 2 * 10**9}])
def test_an_object_that_was_written_again_is_read_again(tmp_path, change):
    bucket = Kept(HONEY)
    assert learnt(tmp_path, bucket) == (md5(b"%PDF").hexdigest(), 1)
    assert learnt(tmp_path, bucket)[1] == 0
    bucket.found = replace(HONEY, **change)
    assert learnt(tmp_path, bucket)[1] == 1
    assert last_address(Home(tmp_path / "home")) == ADDRESS
    assert not files_of(tmp_path, "s3://other").knows_papers


@pytest.mark.parametrize(
    "damage", [lambda text: text[:-20], lambda text: text.replace("honey", "money"), lambda _: "[]"]
)
def test_a_damaged_index_is_an_empty_one(tmp_path, damage):
    bucket = Kept(HONEY)
    learnt(tmp_path, bucket)
    path = Home(tmp_path / "home").objects
    path.write_text(damage(path.read_text()))
    assert not files_of(tmp_path).knows_papers
    assert learnt(tmp_path, bucket)[1] == 1


def test_what_is_in_the_cache_is_verified_and_the_oldest_goes_first(tmp_path, monkeypatch):
    home, bucket, cache = Home(tmp_path / "home"), Kept(HONEY), tmp_path / "cache"
    files = BucketFiles(home, bucket, cache)
    path, digest = home.papers / "b" / "honey.pdf", md5(b"%PDF").hexdigest()
    for name in ("honey.pdf", "again.pdf"):
        with files.opened(home.papers / name, digest) as file:
            assert (file.name, file.read_bytes()) == ("honey.pdf", b"%PDF")
    assert bucket.downloads == 1
    (cache / digest / "honey.pdf").write_bytes(b"%PDX")
    with files.opened(path, digest) as file:
        assert file.read_bytes() == b"%PDF"
    assert bucket.downloads == 2
    with pytest.raises(FileProblem, match="has changed"), files.opened(path, "0" * 32):
        pass
    (cache / ".part-x").mkdir()
    os.utime(cache / ".part-x", (1, 1))
    monkeypatch.setattr(bucket_files, "CACHE_BYTES", 12)
    os.utime(cache / digest, (1, 1))
    bucket.content = b"%PDF-more"
    with files.opened(path, md5(bucket.content).hexdigest()):
        assert [folder.name for folder in cache.iterdir()] == [md5(bucket.content).hexdigest()]


def test_a_download_that_fails_leaves_nothing(tmp_path, monkeypatch):
    bucket, cache = Kept(HONEY), tmp_path / "cache"

    def failing(wanted, file):
        file.write(b"%P")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bucket, "download", failing)
    with pytest.raises(RagScienceError, match="full"):
        learnt(tmp_path, bucket)
    assert list(cache.iterdir()) == []
