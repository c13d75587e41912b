"""Attacks by uploads and by files of papers/: nothing is overwritten, left behind, or opened by the server itself."""

import gc
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from ragscience.engine.papers import Papers
from ragscience.serving import paper_routes
from tests.conftest import ROOT, copied
from tests.pdf_factory import make_pdf
from tests.serving.conftest import serving
from tests.serving.raw_requests import REFUSED, check_problem
from tests.serving.test_paper_routes import finished, paper_of


@pytest.fixture(scope="module")
def home(three_papers, tmp_path_factory):
    return copied(three_papers, tmp_path_factory.mktemp("uploads") / "home")


@pytest.fixture(scope="module")
def address(home):
    with serving(home) as address:
        yield address


def files_of(home):
    """Every file of the home that an upload could touch, with its bytes."""
    places = (*(home / "papers").rglob("*"), *(home / "vectorstore" / "parts").rglob("*"))
    return {str(path.relative_to(home)): path.read_bytes() for path in places if path.is_file()}


@pytest.fixture(autouse=True)
def _unharmed(client, home):
    """The papers that were there are as they were, and nothing lies outside of papers/."""
    before, outside = files_of(home), sorted(home.parent.iterdir())
    yield
    after = files_of(home)
    assert {name: after.get(name) for name in before} == before
    for new in after.keys() - before.keys():
        (home / new).unlink()
    assert not list((home / "vectorstore" / "parts").rglob("*"))
    assert sorted(home.parent.iterdir()) == outside
    assert client.get("/healthz").status_code == 200
    assert {"bees.pdf", "tides.pdf"} <= {paper["file"] for paper in client.get("/api/v1/papers").json()["papers"]}


NAMES = {
    "traversal": "../../../evil.pdf",
    "absolute": "/etc/cron.d/evil.pdf",
    "backslashes": "..\\..\\evil.pdf",
    "drive": "C:\\Windows\\evil.pdf",
    "encoded": "%2e%2e%2fevil.pdf",
    "escape-codes": "\x1b[2J\x1b]0;evil\x07.pdf",
    "right-to-left": "evil\u202efdp.exe.pdf",
    "newlines": "a\r\nSet-Cookie: x=1\r\n.pdf",
    "quotes": 'a"; filename="b.exe.pdf',
    "very-long": "a" * 5000 + ".pdf",
    "very-long-letters": "ä" * 2000 + ".pdf",
    "reserved": "CON.pdf",
    "hidden": ".htaccess.pdf",
    "option": "-rf.pdf",
    "stream": "evil.pdf:stream.pdf",
    "nul": "evil.exe\x00.pdf",
    "markup": "<img src=x onerror=alert(1)>.pdf",
    "surrogate": "a\udc80.pdf",
    "dots": "...pdf.pdf",
    "upper-case": "EVIL.PDF",
}


def sent(client, name, content):
    """The reply to an upload whose file name is these very characters."""
    head = f'--x\r\nContent-Disposition: form-data; name="files"; filename="{name}"\r\n\r\n'
    body = head.encode("utf-8", "surrogateescape") + content + b"\r\n--x--\r\n"
    return client.post("/api/v1/uploads", content=body, headers={"Content-Type": "multipart/form-data; boundary=x"})


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_names_of_uploads(client, home, name):
    before = files_of(home)
    response = sent(client, name, b"%PDF-1.7 no more than its mark")
    if response.status_code in REFUSED:
        check_problem(response)
        assert files_of(home) == before
        return
    assert response.status_code == 202
    finished(client, response.json())
    assert "set-cookie" not in response.headers
    (new,) = set(files_of(home)) - set(before)
    assert re.fullmatch(r"papers/[^/\\\x00-\x1f\x7f\u202e<>:\"]{1,130}\.pdf", new)
    assert not new.removeprefix("papers/").startswith((".", "-"))


def test_a_name_that_is_taken_overwrites_nothing(client, home):
    before = files_of(home)
    finished(client, sent(client, "bees.pdf", b"%PDF-1.7 evil").json())
    (new,) = set(files_of(home)) - set(before)
    assert new == "papers/bees (2).pdf"


def test_a_link_of_that_name_is_not_written_through(client, home, tmp_path):
    target, link = tmp_path / "target", home / "papers" / "link.pdf"
    target.write_text("mine")
    link.symlink_to(target)
    finished(client, sent(client, "link.pdf", b"%PDF-1.7 evil").json())
    assert target.read_text() == "mine"


CONTENTS = {
    "html": b"<html><script>alert(1)</script></html>",
    "empty": b"",
    "program": b"\x7fELF" + b"\x00" * 100,
    "archive": b"PK\x03\x04" + b"\x00" * 100,
    "mark-too-late": b"<html>" + b" " * 2000 + b"%PDF-1.7",
    "picture": b"\x89PNG\r\n\x1a\n",
}


@pytest.mark.parametrize("content", CONTENTS.values(), ids=CONTENTS)
def test_what_is_no_pdf(client, home, content):
    before = files_of(home)
    response = sent(client, "evil.pdf", content)
    assert response.status_code == 422
    check_problem(response)
    assert files_of(home) == before


@pytest.mark.parametrize("kind", ["polyglot", "encrypted", "cut", "noise", "objects"])
def test_pdfs_that_cannot_be_read_end_as_failures(client, home, tmp_path, kind):
    password = "secret" if kind == "encrypted" else ""
    made = make_pdf(tmp_path / "made.pdf", ["Words of a page"], user_password=password).read_bytes()
    content = {
        "polyglot": b"<html><script>alert(1)</script>%PDF-1.7</html>",
        "encrypted": made,
        "cut": made[: len(made) // 3],
        "noise": b"%PDF-1.7\n" + os.urandom(20_000),
        "objects": b"%PDF-1.7\n" + b"1 0 obj << /Kids [1 0 R] /Type /Pages /Count 999999999 >> endobj\n" * 50,
    }[kind]
    job = finished(client, sent(client, f"{kind}.pdf", content).json())
    assert job["state"] == "failed"
    assert all(job["failures"][0][field] for field in ("detail", "reason", "fix"))
    assert (job["failures"][0]["reason"] == "encrypted") == (kind == "encrypted")


DISPOSITION = b'Content-Disposition: form-data; name="files"; filename="a.pdf"\r\n\r\n%PDF-1.7'
FORMS = {
    "no-files": b'--x\r\nContent-Disposition: form-data; name="other"\r\n\r\nvalue\r\n--x--\r\n',
    "files-as-text": b'--x\r\nContent-Disposition: form-data; name="files"\r\n\r\nvalue\r\n--x--\r\n',
    "cut": b"--x\r\n" + DISPOSITION,
    "nothing": b"",
    "other-boundary": b"--y\r\n" + DISPOSITION + b"\r\n--y--\r\n",
    "thousands-of-parts": (b"--x\r\n" + DISPOSITION + b"\r\n") * 10_000 + b"--x--\r\n",
    "thousands-of-fields": b'--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n' * 10_000 + b"--x--\r\n",
    "long-header": b"--x\r\nContent-Disposition: form-data; name=" + b"a" * 100_000 + b"\r\n\r\n1\r\n--x--\r\n",
    "no-name": b"--x\r\nContent-Disposition: form-data\r\n\r\n%PDF-1.7\r\n--x--\r\n",
}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # starlette leaves a cut part open
@pytest.mark.parametrize("body", FORMS.values(), ids=FORMS)
def test_forms_that_are_broken(client, home, body):
    before = files_of(home)
    response = client.post("/api/v1/uploads", content=body, headers={"Content-Type": "multipart/form-data; boundary=x"})
    gc.collect()
    assert response.status_code in REFUSED
    check_problem(response)
    assert files_of(home) == before


@pytest.mark.parametrize("kind", ["multipart/form-data", "application/pdf", "text/plain", "application/json"])
def test_uploads_that_are_no_forms(client, kind):
    check_problem(client.post("/api/v1/uploads", content=b"%PDF-1.7", headers={"Content-Type": kind}))


def test_of_several_files_none_stays_where_one_is_refused(client, home):
    before = files_of(home)
    files = [("files", ("a.pdf", b"%PDF-1.7 a")), ("files", ("b.pdf", b"%PDF-1.7 b")), ("files", ("c.pdf", b"<html>"))]
    check_problem(client.post("/api/v1/uploads", files=files))
    assert files_of(home) == before


def test_a_full_disk_is_one_problem_and_leaves_nothing(client, home, monkeypatch):
    before = files_of(home)
    with monkeypatch.context() as patch:
        patch.setattr(paper_routes.os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        response = sent(client, "a.pdf", b"%PDF-1.7")
    assert response.status_code == 507
    assert "No space left" in check_problem(response)["detail"]
    assert files_of(home) == before


def test_two_uploads_at_once_are_both_read(client, home, tmp_path):
    for name in ("moss", "lichen"):
        make_pdf(tmp_path / f"{name}.pdf", [f"Growth of {name}\n\nThe {name} grows on granite and on slate."])
    with ThreadPoolExecutor(2) as threads:
        made = [(name, (tmp_path / f"{name}.pdf").read_bytes()) for name in ("moss", "lichen")]
        replies = list(threads.map(lambda each: sent(client, f"{each[0]}.pdf", each[1]), made))
    jobs = [finished(client, reply.json()) for reply in replies]
    assert [(job["state"], job["files"]) for job in jobs] == [("done", ["moss.pdf"]), ("done", ["lichen.pdf"])]


def test_a_file_in_whose_place_a_link_was_put_is_not_served(client, home):
    bees, path = paper_of(client, "bees.pdf"), home / "papers" / "bees.pdf"
    kept = path.with_suffix(".kept")
    path.rename(kept)
    path.symlink_to("/etc/passwd")
    response = client.get(f"/api/v1/papers/{bees['md5']}/file")
    path.unlink()
    kept.rename(path)
    assert check_problem(response)["status"] == 422
    assert "root:" not in response.text


def test_a_file_is_sent_as_a_pdf_and_as_nothing_else(client, home, tmp_path):
    make_pdf(tmp_path / "x.pdf", ["<script>alert(1)</script> of markup\n\nIts words are <b>words</b>, no more."])
    name = "a 'quoted' name; x=1.pdf"
    file = finished(client, sent(client, name, (tmp_path / "x.pdf").read_bytes()).json())["files"][0]
    paper = paper_of(client, file)
    headers = client.get(f"/api/v1/papers/{paper['md5']}/file").headers
    assert headers["content-type"] == "application/pdf"
    assert headers["x-content-type-options"] == "nosniff"
    assert re.fullmatch(r"inline; filename(\*=utf-8''[\w%.~-]+|=\"[^\"\r\n]+\")", headers["content-disposition"])
    page = client.get(f"/api/v1/papers/{paper['md5']}/pages/1")
    assert page.headers["content-type"] == "application/json"
    assert "<script>alert(1)</script>" in page.json()["text"]


def test_an_unexpected_error_says_nothing_of_itself(home, monkeypatch, capsys):
    words = "secret of a question"

    def failing(*_):
        raise ValueError(words)

    with serving(home) as url, httpx.Client(base_url=url, timeout=60) as client:
        with monkeypatch.context() as patch:
            patch.setattr(Papers, "list", failing)
            response = client.get("/api/v1/papers")
        assert client.get("/api/v1/papers").status_code == 200
    assert response.status_code == 500
    check_problem(response)
    log = capsys.readouterr().err
    assert words not in response.text + log
    assert "ValueError" in log
    assert "in failing" in log


def test_the_server_itself_opens_no_pdf_and_its_log_has_no_question(home, tmp_path):
    own = tmp_path / "home"
    copied(home, own)
    make_pdf(tmp_path / "fern.pdf", ["Growth of ferns\n\nFerns grow 7.5 centimetres a year in the shade of oaks."])
    command = [sys.executable, str(ROOT / "query.py"), "serve", "--port", "0", "--offline", "--home", str(own)]
    with subprocess.Popen(command, cwd=own, stderr=subprocess.PIPE, text=True) as server:
        try:
            address = next(line for line in server.stderr if line.startswith("Serving ")).split()[1]
            with httpx.Client(base_url=address, timeout=120) as client:
                job = finished(client, sent(client, "fern.pdf", (tmp_path / "fern.pdf").read_bytes()).json())
                assert job["files"] == ["fern.pdf"]
                question = {"question": "How much do xylophones grow?"}
                reply = client.post("/api/v1/ask", json=question)
                client.post("/api/v1/ask", content=json.dumps(question)[:-1])
                assert reply.status_code == 200
                assert not {"server", "x-powered-by", "via"} & set(reply.headers)
                assert "mupdf" not in Path(f"/proc/{server.pid}/maps").read_text()
        finally:
            server.terminate()
        log = server.stderr.read()
    assert "xylophone" not in log
    shutil.rmtree(own)
