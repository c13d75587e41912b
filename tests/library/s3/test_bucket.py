"""A bucket on a real server, which fails, is slow and forgets: each is one clear line, without a secret."""

import hashlib
import io
import itertools
import re
import socket
from dataclasses import replace

import pytest

from ragscience.core.errors import FileProblem, RagScienceError, SourceError
from ragscience.library import bucket as bucket_module
from ragscience.library.bucket import Bucket
from tests.library.s3.conftest import ADDRESS
from tests.s3_server import BUCKET, KEY, SECRET

pytestmark = pytest.mark.s3

CONTENT = b"%PDF-1.7 " + bytes(range(256)) * 40


def md5(content):
    return hashlib.md5(content, usedforsecurity=False).hexdigest()


def listed(bucket):
    return {each.name: each for each in bucket.objects()}


def flipped():
    """Bytes with one wrong bit, another one each time."""
    bits = itertools.cycle(range(8))
    return lambda content: content[:-1] + bytes([content[-1] ^ 1 << next(bits)])


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


def test_objects_come_in_pages(bucket, put, monkeypatch):
    monkeypatch.setattr(bucket_module, "_PAGE", 2)
    names = ["a.pdf", "b c.pdf", "more/d+é.pdf", "x.txt", "z.pdf"]
    for name in names:
        put(name, CONTENT + name.encode())
    put("folder/", b"")
    pages = []
    found = list(bucket.objects("", pages.append))
    assert sorted(each.name for each in found) == sorted(names)
    assert all(each.size_bytes == len(CONTENT + each.name.encode()) and each.modified_ns for each in found)
    assert len(pages) == 3
    assert pages[-1] == 5
    assert [each.name for each in bucket.objects("more/")] == ["more/d+é.pdf"]
    assert listed(Bucket(f"s3://{BUCKET}"))["pdf/a.pdf"].etag == md5(CONTENT + b"a.pdf")


def test_a_page_that_fails_is_no_end_of_the_list(s3, bucket, put, monkeypatch):
    monkeypatch.setattr(bucket_module, "_PAGE", 1)
    put("a.pdf", CONTENT)
    put("b.pdf", CONTENT)
    s3.spoil("continuation-token", "500 InternalError")
    assert isinstance(failed(lambda: list(bucket.objects())), SourceError)
    s3.heal()
    s3.spoil("continuation-token", "close", times=1)
    assert set(listed(bucket)) == {"a.pdf", "b.pdf"}


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("403 AccessDenied", "may not be listed (AccessDenied)"),
        ("403 InvalidAccessKeyId", "does not accept the credentials (InvalidAccessKeyId)"),
        ("400 ExpiredToken", "does not accept the credentials (ExpiredToken)"),
        ("403 RequestTimeTooSkewed", "the server answers RequestTimeTooSkewed"),
        ("404 NoSuchBucket", "There is no bucket lab"),
        ("503 SlowDown", "the server answers SlowDown"),
        ("301 PermanentRedirect", "cannot be read"),
        ("400 AuthorizationHeaderMalformed", "cannot be read"),
        ("close", "cannot be reached"),
        ("silent", "cannot be reached"),
        ("cut", "cannot be read"),
        (lambda listing: listing[: len(listing) // 2], "the answer is not S3's"),
        (lambda _: b"<html><p>Log in<br></html>", "the answer is not S3's"),
        (lambda listing: re.sub(b"<ETag>.*?</ETag>", b"", listing), "the answer is not S3's"),
    ],
)
def test_a_server_that_does_not_list(s3, bucket, hasty, put, how, says):
    put("a.pdf", CONTENT)
    s3.spoil("list-type=2", how)
    problem = failed(lambda: listed(hasty if how == "silent" else bucket))
    assert isinstance(problem, SourceError)
    assert says in problem.message
    s3.heal()
    assert set(listed(bucket)) == {"a.pdf"}


def test_a_server_that_is_not_there(s3, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    problem = failed(lambda: listed(Bucket(ADDRESS, timeout_seconds=0.5)))
    assert problem.message == f"{ADDRESS} cannot be reached: no server answers at http://127.0.0.1:{port}."
    assert "AWS_ENDPOINT_URL" in problem.fix


def test_no_credentials_and_no_such_profile(s3, monkeypatch):
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    assert "AWS_PROFILE" in failed(lambda: listed(Bucket(ADDRESS))).fix
    monkeypatch.delenv("AWS_PROFILE")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    assert "PartialCredentialsError" in failed(lambda: listed(Bucket(ADDRESS))).message
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    problem = failed(lambda: listed(Bucket(ADDRESS)))
    assert "without credentials" in problem.message
    assert "AWS_ACCESS_KEY_ID" in problem.fix


@pytest.mark.parametrize("endpoint", ["loopback", "ftp://[", "http://", f"http://user:{SECRET}@127.0.0.1:9"])
def test_an_endpoint_that_is_none(s3, monkeypatch, endpoint):
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    assert isinstance(failed(lambda: listed(Bucket(ADDRESS, timeout_seconds=0.5))), SourceError)


def test_a_list_that_leads_back_to_its_page_ends(s3, bucket, put, monkeypatch):
    monkeypatch.setattr(bucket_module, "_PAGE", 1)
    put("a.pdf", CONTENT)
    put("b.pdf", CONTENT)
    pages = []
    s3.spoil("list-type=2", lambda listing: (pages.append(listing), pages[0])[1])
    assert "PaginationError" in failed(lambda: listed(bucket)).message


def test_an_object_that_is_there_or_not(s3, bucket, put):
    put("a.pdf", CONTENT)
    assert bucket.head("a.pdf") == listed(bucket)["a.pdf"]
    assert failed(lambda: bucket.head("b.pdf")).reason == "missing"
    s3.spoil("HEAD", "403 AccessDenied")
    assert "a.pdf in s3://lab/pdf may not be read" in failed(lambda: bucket.head("a.pdf")).message


def test_a_download_is_whole(s3, bucket, hasty, put):
    put("a.pdf", CONTENT)
    wanted, file = listed(bucket)["a.pdf"], io.BytesIO()
    for how in ("cut", flipped(), "close", "silent", lambda content: content + content):
        s3.spoil("GET /lab/pdf/a.pdf", how, times=1)
        assert (hasty if how == "silent" else bucket).download(wanted, file) == md5(CONTENT)
        assert file.getvalue() == CONTENT


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("cut", "bytes came"),
        (flipped(), "not those of its ETag"),
        (lambda content: content * 2, "of 10,249 bytes came"),
    ],
)
def test_a_download_that_is_never_whole(s3, bucket, put, how, why):
    put("a.pdf", CONTENT)
    wanted = listed(bucket)["a.pdf"]
    s3.spoil("GET /lab/pdf/a.pdf", how)
    file = io.BytesIO()
    problem = failed(lambda: bucket.download(wanted, file))
    assert isinstance(problem, FileProblem)
    assert problem.reason == "network"
    assert why in problem.message
    assert len(file.getvalue()) <= wanted.size_bytes  # never more than there was room for


def test_etags_that_look_like_md5s_and_are_none_are_no_reason_to_give_up(s3, bucket, put):
    put("a.pdf", CONTENT)
    wanted = replace(listed(bucket)["a.pdf"], etag="0" * 32)
    s3.unheard.add("If-Match")
    assert bucket.download(wanted, io.BytesIO()) == md5(CONTENT)
    assert len(s3.downloads()) == 2  # the same bytes twice


def test_an_object_that_changes_or_goes_after_it_was_listed(bucket, put, delete):
    put("a.pdf", CONTENT)
    wanted = listed(bucket)["a.pdf"]
    put("a.pdf", CONTENT + b"more")
    assert failed(lambda: bucket.download(wanted, io.BytesIO())).reason == "changed"
    delete("a.pdf")
    assert failed(lambda: bucket.download(wanted, io.BytesIO())).reason == "missing"


def test_an_etag_of_parts_is_not_taken_for_an_md5(s3, bucket):
    parts = [CONTENT * 600, CONTENT]
    upload = s3.client.create_multipart_upload(Bucket=BUCKET, Key="pdf/parts.pdf")["UploadId"]
    place = {"Bucket": BUCKET, "Key": "pdf/parts.pdf", "UploadId": upload}
    sent = [
        {"PartNumber": number, "ETag": s3.client.upload_part(**place, PartNumber=number, Body=part)["ETag"]}
        for number, part in enumerate(parts, 1)
    ]
    s3.client.complete_multipart_upload(**place, MultipartUpload={"Parts": sent})
    wanted = listed(bucket)["parts.pdf"]
    assert wanted.etag.endswith("-2")
    assert bucket.download(wanted, io.BytesIO()) == md5(b"".join(parts))


def test_a_link_can_be_read_by_whoever_has_it(s3, bucket, put):
    import httpx

    put("a b.pdf", CONTENT)
    link = bucket.link("a b.pdf", 60)
    assert SECRET not in link
    reply = httpx.get(link)
    assert (reply.status_code, reply.content) == (200, CONTENT)
