"""The objects' names and states, when one is downloaded again, and a server that fails, lies or says nothing."""

import itertools
import os
import re
import shutil
from dataclasses import replace
from hashlib import md5

import pytest

from ragscience.core.errors import FileProblem, RagScienceError, SourceError
from ragscience.library import bucket
from ragscience.library.bucket import BucketFiles
from ragscience.library.store import Home
from tests.library.s3.conftest import ADDRESS
from tests.s3_server import KEY, SECRET

NAMES = ["a.pdf", "b/a.pdf", "%/a.pdf", "%%.pdf", "b c+%20é.pdf", "A.pdf", "n" * 400 + ".pdf"]
NAMES += ["e\u0301.pdf", "\u00e9.pdf", "new\nline.pdf", "back\\slash.pdf", " .pdf", "b/ /a.PDF"]
CONTENT = b"%PDF-1.7 " + bytes(range(256)) * 40
MD5 = md5(CONTENT).hexdigest()


@pytest.fixture
def files(tmp_path):
    return BucketFiles(Home(tmp_path / "home"), ADDRESS, tmp_path / "cache")


def failed(act):
    """The problem, which must be one line for a person, with a way out, and without what is secret."""
    with pytest.raises(RagScienceError) as raised:
        act()
    problem = raised.value
    assert problem.message.endswith(".")
    assert problem.fix
    assert "\n" not in str(problem)
    assert KEY not in str(problem)
    assert SECRET not in str(problem)
    return problem


def flipped():
    """Bytes with one wrong bit, another one each time."""
    bits = itertools.cycle(range(8))
    return lambda content: content[:-1] + bytes([content[-1] ^ 1 << next(bits)])


def test_names_that_lead_out_and_hidden_ones_are_no_papers():
    out = ("//a.pdf", "/a.pdf", "b//a.pdf", "../a.pdf", "b/../../a.pdf", "./a.pdf", "b/..pdf/a.pdf")
    names = [*out, ".a.pdf", ".trash/a.pdf", "a.rst", "good.pdf"]
    assert [name for name in names if bucket._is_paper(name, "")] == ["good.pdf"]


@pytest.mark.s3
@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("403 AccessDenied", "AccessDenied"),
        ("400 ExpiredToken", "ExpiredToken"),
        ("404 NoSuchBucket", "NoSuchBucket"),
        ("503 SlowDown", "SlowDown"),
        ("301 PermanentRedirect", "PermanentRedirect"),
        ("close", "ConnectionClosedError"),
        ("cut", "IncompleteRead"),
        (lambda listing: listing[: len(listing) // 2], "ResponseParserError"),
        (lambda _: b"<html><p>Log in<br></html>", "ResponseParserError"),
        (lambda listing: re.sub(b"<ETag>.*?</ETag>", b"", listing), "KeyError"),
    ],
)
def test_a_server_that_does_not_list(s3, files, put, how, says):
    put("a.pdf", CONTENT)
    s3.spoil("list-type=2", how)
    problem = failed(files.listing)
    assert isinstance(problem, SourceError)
    assert f"{ADDRESS} cannot be read: " in problem.message
    assert "AWS_ACCESS_KEY_ID" in problem.fix
    s3.heal()
    assert [path.name for path in files.listing()] == ["a.pdf"]


@pytest.mark.s3
def test_no_credentials_and_an_endpoint_that_is_none(s3, files, monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://user:{SECRET}@127.0.0.1:9")
    assert isinstance(failed(files.listing), SourceError)
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert "AWS_PROFILE" in failed(BucketFiles(Home(tmp_path), ADDRESS, tmp_path).listing).fix


@pytest.mark.s3
def test_a_download_is_whole_or_not_at_all(s3, files, put, tmp_path):
    put("a.pdf", CONTENT)
    path = next(iter(files.listing()))
    for how in ("cut", flipped(), "close", lambda content: content + content):
        s3.spoil("GET /lab/pdf/a.pdf", how, times=1)
        with files.opened(path, MD5) as file:
            assert (file.name, file.read_bytes()) == ("a.pdf", CONTENT)
        shutil.rmtree(file.parent)
    for how in ("cut", flipped()):
        s3.spoil("GET /lab/pdf/a.pdf", how)
        problem = failed(lambda: files.state(path))
        assert isinstance(problem, FileProblem)
        assert problem.reason == "network"
        s3.heal()
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.s3
def test_an_object_that_was_written_again_is_downloaded_again(s3, files, put, delete, tmp_path):
    put("a.pdf", CONTENT)
    (path,) = files.listing()
    assert files.state(path).md5 == files.state(path).md5 == MD5
    assert s3.downloads() == ["pdf/a.pdf"]
    files.save()
    later = BucketFiles(Home(tmp_path / "home"), ADDRESS, tmp_path / "cache")
    assert later.exists(str(path))
    (found,) = later.listing().values()
    assert (later.md5_if_known(found), later.md5_if_known(replace(found, etag="1" * 32))) == (MD5, "")
    put("a.pdf", CONTENT + b"more")
    (cache,) = (tmp_path / "cache").iterdir()
    shutil.rmtree(cache)
    with pytest.raises(FileProblem, match="has changed"), later.opened(path, MD5):
        pass
    delete("a.pdf")
    assert later.is_gone(tmp_path / "home" / "papers" / "b.pdf")


@pytest.mark.s3
def test_what_is_in_the_cache_is_verified_and_the_oldest_goes_first(s3, files, put, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    put("a.pdf", CONTENT)
    put("b.pdf", CONTENT + b"more")
    first, second = files.listing()
    for _ in range(2):
        with files.opened(first, MD5) as file:
            assert file.read_bytes() == CONTENT
    assert s3.downloads() == ["pdf/a.pdf"]
    file.write_bytes(b"%PDX")
    with files.opened(first, MD5) as file:
        assert file.read_bytes() == CONTENT
    assert len(s3.downloads()) == 2
    (cache / ".part-x").mkdir()
    os.utime(cache / ".part-x", (1, 1))
    os.utime(cache / MD5, (2, 2))
    monkeypatch.setattr(bucket, "CACHE_BYTES", len(CONTENT) + 12)
    more = md5(CONTENT + b"more").hexdigest()
    with files.opened(second, more):
        assert [folder.name for folder in cache.iterdir()] == [more]


@pytest.mark.s3
def test_a_disk_that_is_full_leaves_nothing(s3, files, put, tmp_path, monkeypatch):
    def failing(*_):
        raise OSError(28, "No space left on device")

    put("a.pdf", CONTENT)
    (path,) = files.listing()
    monkeypatch.setattr(bucket.shutil, "copyfileobj", failing)
    assert "full" in failed(lambda: files.state(path)).message
    assert list((tmp_path / "cache").iterdir()) == []
