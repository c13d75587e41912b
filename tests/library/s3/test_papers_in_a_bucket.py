"""The commands over papers in a bucket: what a person sees is the same, and nothing that was good is lost."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys

import httpx
import pytest

from tests.commands.papers import BEES, KILNS
from tests.commands.test_open_command import Viewer
from tests.conftest import ROOT
from tests.library.s3.conftest import ADDRESS, empty
from tests.pdf_factory import make_pdf
from tests.s3_server import BUCKET, KEY, SECRET, without
from tests.serving.conftest import serving

pytestmark = pytest.mark.s3

GLAZE = "At which temperature does the glaze mature?"
THREE = {"bees.pdf", "kilns.pdf", "tides.pdf"}
NAMES = ["pdf/bees.pdf", "pdf/kilns.pdf", "pdf/more/tides.pdf"]


def files_of(commands):
    return set(commands.papers())


def pdf(tmp_path, pages):
    make_pdf(tmp_path / "made.pdf", pages)
    return (tmp_path / "made.pdf").read_bytes()


def test_papers_are_read_once_and_known_afterwards(s3, lab, put, delete, tmp_path):
    first = lab.ingest()
    assert first.code == 0, first.err
    assert "3 added" in first.err
    assert sorted(s3.downloads()) == NAMES
    assert files_of(lab) == THREE
    assert not list((lab.home).rglob("*.pdf"))
    s3.heal()
    second = lab.ingest()
    assert "3 known already" in second.err
    assert s3.downloads() == []

    # The same bytes written again as an upload in parts: another ETag, nothing to read.
    upload = s3.client.create_multipart_upload(Bucket=BUCKET, Key="pdf/bees.pdf")["UploadId"]
    place = {"Bucket": BUCKET, "Key": "pdf/bees.pdf", "UploadId": upload}
    content = s3.client.get_object(Bucket=BUCKET, Key="pdf/bees.pdf")["Body"].read()
    part = {"PartNumber": 1, "ETag": s3.client.upload_part(**place, PartNumber=1, Body=content)["ETag"]}
    s3.client.complete_multipart_upload(**place, MultipartUpload={"Parts": [part]})
    assert "3 known already" in lab.ingest().err
    assert s3.downloads() == ["pdf/bees.pdf"]
    s3.heal()
    assert "3 known already" in lab.ingest().err
    assert s3.downloads() == []

    # Another name, other bytes, and one that is gone.
    put("honey.pdf", content)
    delete("bees.pdf")
    put("kilns.pdf", pdf(tmp_path, [KILNS[0].replace("1280", "1310")]))
    delete("more/tides.pdf")
    changed = lab.ingest("sync")
    assert changed.code == 0, changed.err
    assert "1 updated" in changed.err
    assert files_of(lab) == {"honey.pdf", "kilns.pdf"}
    answer = lab.query("ask", GLAZE)
    assert "1310" in answer.out
    assert "(kilns.pdf, p.1)" in answer.out


@pytest.mark.parametrize("how", ["403 AccessDenied", "404 NoSuchBucket"])
def test_a_listing_that_fails_takes_nothing_out(s3, read, how):
    s3.spoil("list-type=2", how)
    ran = read.ingest("sync")
    assert ran.code == 1
    assert ADDRESS in ran.err or BUCKET in ran.err
    assert SECRET not in ran.err + ran.out
    s3.heal()
    assert "3 known already" in read.ingest("sync").err


def test_objects_that_are_missing_from_a_listing_alone_stay(s3, read):
    s3.spoil("list-type=2", without("bees.pdf"))
    ran = read.ingest("sync")
    assert ran.code == 0, ran.err
    assert files_of(read) == THREE


def test_an_empty_bucket_and_a_wrong_prefix_take_nothing_out(s3, read):
    wrong = read.ingest("sync", RAG_PAPERS=f"s3://{BUCKET}/elsewhere")
    assert wrong.code == 1
    assert f"None of the library's 3 papers is in s3://{BUCKET}/elsewhere: nothing was removed." in wrong.err
    empty(s3)
    ran = read.ingest("sync")
    assert ran.code == 1
    assert "RAG_PAPERS" in ran.err
    assert files_of(read) == THREE
    assert read.ingest("remove", "*", "--yes").code == 0
    assert files_of(read) == set()


def test_a_cache_that_is_gone_changes_nothing(s3, lab, tmp_path):
    assert lab.ingest().code == 0
    shutil.rmtree(tmp_path / "cache" / "bucket_papers")
    again = lab.ingest("rebuild")
    assert again.code == 0, again.err
    assert files_of(lab) == THREE


def test_a_source_is_opened_from_the_bucket(s3, read, tmp_path):
    answer = read.query("ask", GLAZE, "--json")
    assert {citation["file"] for citation in json.loads(answer.out)["citations"]} == {"kilns.pdf"}
    viewer = Viewer(tmp_path)
    ran = read.query("open", "1", RAG_PDF_VIEWER=viewer.command("{page} {file}"))
    assert ran.code == 0, ran.err
    assert ran.out == f"[1] {ADDRESS}/kilns.pdf, p.1\n"
    page, file = viewer.called_with()
    assert page == "1"
    assert re.search(r"/cache/bucket_papers/[0-9a-f]{32}/kilns\.pdf$", file)
    assert s3.downloads() == ["pdf/kilns.pdf"]
    assert read.query("ask", GLAZE, "--highlight", tmp_path / "marked.pdf").code == 0
    assert (tmp_path / "marked.pdf").read_bytes().startswith(b"%PDF")
    shutil.rmtree(tmp_path / "cache" / "bucket_papers")
    empty(s3)
    gone = read.query("open", "1", RAG_PDF_VIEWER="true {file}")
    assert gone.code == 3
    assert f"kilns.pdf is not in {ADDRESS}" in gone.err


def test_the_server_shows_papers_of_the_bucket_and_takes_no_uploads(s3, read, delete, tmp_path):
    with serving(read.home, papers=ADDRESS, offline=False) as url, httpx.Client(base_url=url, timeout=60) as client:
        md5s = {paper["file"]: paper["md5"] for paper in client.get("/api/v1/papers").json()["papers"]}
        reply = client.get(f"/api/v1/papers/{md5s['bees.pdf']}/file")
        assert reply.status_code == 200, reply.text
        assert reply.content.startswith(b"%PDF")
        assert "bees.pdf" in reply.headers["content-disposition"]
        part = client.get(f"/api/v1/papers/{md5s['bees.pdf']}/file", headers={"Range": "bytes=0-3"})
        assert (part.status_code, part.content) == (206, b"%PDF")
        picture = client.get(f"/api/v1/papers/{md5s['kilns.pdf']}/pages/1/image")
        assert picture.status_code == 200, picture.text
        for how in ("500 InternalError", "403 AccessDenied", "503 SlowDown"):
            s3.spoil("more/tides.pdf", how)
            refused = client.get(f"/api/v1/papers/{md5s['tides.pdf']}/file")
            assert refused.status_code == 502
            assert SECRET not in refused.text
            s3.heal()
        delete("more/tides.pdf")
        gone = client.get(f"/api/v1/papers/{md5s['tides.pdf']}/file")
        assert gone.status_code == 422
        assert "is not in" in gone.json()["detail"]
        sent = client.post("/api/v1/uploads", files={"files": ("a.pdf", pdf(tmp_path, BEES))})
        assert sent.status_code == 400
        assert ADDRESS in sent.text


def test_fetch_and_watch_are_of_a_folder(lab):
    watch = lab.ingest("watch")
    assert (watch.code, f"The papers are in {ADDRESS}, and a watch follows a folder." in watch.err) == (2, True)
    ran = lab.ingest("fetch", "1706.03762")
    assert ran.code == 2
    assert f"The papers are in {ADDRESS}, where this program writes nothing." in ran.err


def test_doctor_looks_into_the_bucket_and_shows_no_secret(s3, read, put, delete, tmp_path):
    def papers(*more, **env):
        ran = read.ingest("doctor", "--json", "--fast", *more, **env)
        assert SECRET not in ran.out + ran.err
        assert KEY not in ran.out + ran.err
        found = [
            (each["severity"], each["message"]) for each in json.loads(ran.out)["findings"] if each["area"] == "papers"
        ]
        return found[1:]

    assert papers() == [("info", f"The papers are in {ADDRESS}, which was not asked.")]
    assert papers("--network") == [("ok", f"{ADDRESS} can be listed: 3 PDFs.")]
    put("new.pdf", pdf(tmp_path, ["Something else entirely."]))
    delete("bees.pdf")
    put("kilns.pdf", pdf(tmp_path, [*KILNS, "More."]))
    assert papers("--network") == [
        ("ok", f"{ADDRESS} can be listed: 3 PDFs."),
        ("warning", f"bees.pdf is in the library, but its object is gone from {ADDRESS}."),
        ("warning", "kilns.pdf has changed since it was read."),
        ("warning", f"new.pdf is in {ADDRESS} and not in the library."),
    ]
    s3.spoil("list-type=2", "403 AccessDenied")
    assert papers("--network")[0] == ("error", f"{ADDRESS} cannot be read: AccessDenied.")


def test_all_goes_on_while_the_bucket_is_out_of_reach(s3, read, monkeypatch, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://who:{SECRET}@127.0.0.1:{closed.getsockname()[1]}")
    answer = read.query("ask", GLAZE)
    assert (answer.code, "(kilns.pdf, p.1)" in answer.out) == (0, True), answer.err
    assert f"[1] {ADDRESS}/kilns.pdf, p.1" in read.query("open", "1").out
    assert f"{ADDRESS}/kilns.pdf" in read.ingest("show", "kilns.pdf").out
    assert files_of(read) == THREE
    needed = [("sync",), ("rebuild",)]
    for ran in (*(read.ingest(*words) for words in needed), read.query("open", "1", RAG_PDF_VIEWER="true {file}")):
        assert ran.code == 1, ran.err
        (line,) = [each for each in ran.err.splitlines() if each.startswith("error: ")]
        assert line.startswith(f"error: {ADDRESS} cannot be read: EndpointConnectionError.")
        assert SECRET not in ran.out + ran.err
    traced = read.ingest("sync", "--debug").err
    assert "Traceback" in traced
    assert KEY not in traced
    assert SECRET not in traced
    assert "removed bees.pdf" in read.ingest("remove", "bees.pdf", "--yes").err
    assert files_of(read) == THREE - {"bees.pdf"}
    assert "botocore" not in read.imported_by("query.py", "ask", GLAZE)


@pytest.mark.kill
def test_a_run_that_is_killed_while_it_downloads_loses_nothing(s3, lab, tmp_path):
    s3.spoil("GET /lab/pdf/more/tides.pdf", "silent")
    words = [sys.executable, str(ROOT / "ingest.py")]
    environment = {**os.environ, "RAG_HOME": str(lab.home), "RAG_PAPERS": ADDRESS}
    with subprocess.Popen(words, env=environment, cwd=lab.home, stderr=subprocess.DEVNULL) as process:
        assert s3.asked_for("GET /lab/pdf/more/tides.pdf")
        process.kill()
    s3.heal()
    assert "3 added" in lab.ingest().err
    assert files_of(lab) == THREE
    left = {path.name for path in (tmp_path / "cache" / "bucket_papers").iterdir()}
    assert len([name for name in left if not name.startswith(".part-")]) == 3


def test_what_is_missing_is_said_before_anything_is_asked(lab):
    ran = lab.ingest("--offline")
    assert ran.code == 1
    assert f"The papers are in {ADDRESS}, and the network is switched off." in ran.err
    unset = lab.ingest("add", f"{ADDRESS}/bees.pdf", RAG_PAPERS="")
    assert unset.code == 3
    assert "Set RAG_PAPERS to read papers of a bucket." in unset.err
    wrong = lab.ingest(RAG_PAPERS="s3:/lab")
    assert wrong.code == 2
    assert "must be an address like s3://bucket/prefix" in wrong.err
