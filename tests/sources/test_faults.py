"""All that a server can do wrong while it gives a PDF: it ends with the good file, or with one clear line.

Never with a broken file among the papers, and never with anything in the parts folder that could not be gone on with.
"""

import gzip
import hashlib
from dataclasses import dataclass, field

import pytest

from ragscience.core.errors import SourceError
from ragscience.sources.http_client import HttpClient
from tests.pdf_factory import make_pdf
from tests.sources.fault_server import Raw, Reply
from tests.sources.fetching import Clock, fetcher

BUSY = Reply(b"slow down", 429, content_type="text/plain")
HTML = b"<!DOCTYPE html><html><head><title>Just a\n moment</title></head><body>Are you a robot?</body></html>"


@dataclass(frozen=True)
class Good:
    """Ends with the good file: `script` makes the replies of one path out of the good PDF."""

    name: str
    script: object
    slept: tuple = ()


def retry_after(value):
    return Reply(b"", 429, {"Retry-After": value})


def cut(pdf):
    return Reply(pdf, cut_after=2000)


def padded(pdf):
    return b"\r\n" * 400 + pdf


GOOD = [
    Good("plain", lambda pdf: [Reply(pdf)]),
    Good("chunked", lambda pdf: [Reply(pdf, chunked=True)]),
    Good("no-length", lambda pdf: [Reply(pdf, length=None)]),
    Good("wrong-content-type", lambda pdf: [Reply(pdf, content_type="text/html")]),
    Good("junk-before-the-header", lambda pdf: [Reply(padded(pdf))]),
    Good("429-once", lambda pdf: [BUSY, Reply(pdf)], (5,)),
    Good("429-seconds", lambda pdf: [retry_after("42"), Reply(pdf)], (42,)),
    Good("429-fewer-seconds-than-ours", lambda pdf: [retry_after("1"), Reply(pdf)], (5,)),
    Good("503-once", lambda pdf: [Reply(b"", 503), Reply(pdf)], (5,)),
    Good("503-three-times", lambda pdf: [Reply(b"", 503)] * 3 + [Reply(pdf)], (5, 10, 15)),
    Good("cut-before-anything", lambda pdf: [Raw(b""), Reply(pdf)], (5,)),
    Good("cut-once", lambda pdf: [cut(pdf), Reply(pdf)], (5,)),
    Good("header-in-latin-1", lambda pdf: [Raw(b"HTTP/1.1 200 OK\r\nX: M\xfcller\r\n\r\n" + pdf)]),
    Good("early-hints", lambda pdf: [Raw(b"HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + pdf)]),
]


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_ends_with_the_good_file(case, server, pdf, tmp_path):
    clock, parts, papers = Clock(), tmp_path / "parts", tmp_path / "papers"
    papers.mkdir()
    url = server.on("/paper.pdf", *case.script(pdf))
    with fetcher(clock) as network:
        got = network.pdf(url, parts)
        expected = padded(pdf) if case.name.startswith("junk") else pdf
        assert got.path.read_bytes() == expected
        assert (got.url, got.size, got.md5) == (url, len(expected), hashlib.md5(expected).hexdigest())
        assert tuple(clock.slept) == case.slept
        got.path.replace(papers / got.name)
    assert list(parts.iterdir()) == []
    assert [path.name for path in papers.iterdir()] == ["paper.pdf"]


@dataclass(frozen=True)
class Bad:
    """Ends with one line that has `said` in it, for `reason`, after so many requests."""

    name: str
    script: object
    reason: str
    said: str
    requests: int = 1
    rules: dict = field(default_factory=dict)
    tick: float = 0.0


def status(code, **headers):
    return lambda pdf: [Reply(b"no", code, headers, content_type="text/plain")]


def redirect(where, code=302):
    return lambda pdf: [Reply(b"", code, {"Location": where})]


def trickle(pdf):
    return [Raw(OK + b"\r\n%PDF-1.7", endless=b".")]


def encrypted(pdf, tmp_path):
    return make_pdf(tmp_path / "encrypted.pdf", ["secret"], user_password="x").read_bytes()


OK = b"HTTP/1.1 200 OK\r\n"
NO_PAGES = (
    b"%PDF-1.7\n1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n2 0 obj\n<</Type/Pages/Kids[]/Count 0>>\nendobj\n"
)
NO_PAGES += b"trailer\n<</Root 1 0 R/Size 3>>\nstartxref\n0\n%%EOF\n"
INSIDE = redirect("http://10.0.0.1/")
SHORT = {"timeout_s": 0.2}
LOOKS_GOOD = b"%PDF-1.7\n" + b"\x00garbage" * 300 + b"\n%%EOF\n"

BAD = [
    Bad("429-always", lambda pdf: [BUSY], "busy", "429 (Too Many Requests). It was tried 4 times.", 4),
    Bad("503-always", lambda pdf: [Reply(b"", 503)], "busy", "503 (Service Unavailable)", 4),
    Bad(
        "429-an-hour",
        lambda pdf: [retry_after("3600")],
        "busy",
        "asks for a long pause. Come back in 60 minutes or later.",
    ),
    Bad("429-absurd", lambda pdf: [retry_after("9" * 200)], "busy", "Come back in 10080 minutes"),
    Bad("500", status(500), "status", "500 (Internal Server Error). Try again later."),
    Bad("404", status(404), "status", "was answered with 404 (Not Found). Download it"),
    Bad("403", status(403), "status", "403 (Forbidden). Download it with a browser"),
    Bad("204", lambda pdf: [Reply(b"", 204, length=None)], "status", "204 (No Content)"),
    Bad("300-with-a-location", redirect("/other.pdf", 300), "status", "300 (Multiple Choices)"),
    Bad("101", lambda pdf: [Raw(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n")], "network", "failed: ", 4),
    Bad("206-unasked", lambda pdf: [Reply(pdf, 206)], "status", "206 (Partial Content)"),
    Bad("html-as-pdf", lambda pdf: [Reply(HTML)], "not-a-pdf", "without a PDF's beginning. Open the address"),
    Bad("endless-html", lambda pdf: [Reply(HTML, endless=b"<p>")], "not-a-pdf", "without a PDF's beginning"),
    Bad("zip", lambda pdf: [Reply(b"PK\x03\x04" + b"x" * 2000)], "not-a-pdf", "without a PDF's beginning"),
    Bad("gzip-unnamed", lambda pdf: [Reply(gzip.compress(pdf))], "not-a-pdf", "without a PDF's beginning"),
    Bad("text", lambda pdf: [Reply(b"hi", content_type="text/plain")], "not-a-pdf", "came as text/plain, without"),
    Bad("late-header", lambda pdf: [Reply(b" " * 1100 + pdf)], "not-a-pdf", "came as application/pdf"),
    Bad("endless", lambda pdf: [Reply(pdf, endless=b"x" * 9999)], "too-large", "has more than 1.0 MB"),
    Bad(
        "endless-chunks",
        lambda pdf: [
            Raw(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\n%PDF-\r\n", endless=b"400\r\n" + b"x" * 1024 + b"\r\n")
        ],
        "too-large",
        "has more than",
    ),
    Bad("2-gb", lambda pdf: [Reply(pdf, length=2 << 30)], "too-large", "has more than 1.0 MB"),
    Bad("endless-header", lambda pdf: [Raw(OK + b"X: ", endless=b"x" * 999)], "network", "failed: ", 4),
    Bad("bad-header", lambda pdf: [Raw(OK + b"X\x00: y\r\n\r\n" + pdf)], "network", "failed: ", 4),
    Bad(
        "two-lengths", lambda pdf: [Raw(OK + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n" + pdf)], "network", "", 4
    ),
    Bad("bad-chunk", lambda pdf: [Raw(OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")], "network", "failed: ", 4),
    Bad("length-too-long", lambda pdf: [Reply(pdf, length=len(pdf) + 9)], "network", "It was tried 4 times", 4),
    Bad("length-too-short", lambda pdf: [Reply(pdf, length=len(pdf) - 900)], "truncated", "cut off: it has "),
    Bad("cut-always", lambda pdf: [cut(pdf)], "network", "It was tried 4 times", 4),
    Bad("cut-then-404", lambda pdf: [cut(pdf), *status(404)(pdf)], "status", "404", 2),
    Bad("cut-then-private", lambda pdf: [cut(pdf), *INSIDE(pdf)], "refused-address", "10.0.0.1", 2),
    Bad("cut-then-html", lambda pdf: [cut(pdf), Reply(HTML)], "not-a-pdf", "without a PDF's beginning", 2),
    Bad("closed-always", lambda pdf: [Raw(b"")], "network", "Server disconnected without sending a response", 4),
    Bad(
        "gzip", lambda pdf: [Reply(gzip.compress(pdf), headers={"Content-Encoding": "gzip"})], "not-a-pdf", "beginning"
    ),
    Bad(
        "bomb",
        lambda pdf: [Reply(gzip.compress(bytes(9 << 20)), headers={"Content-Encoding": "x-gzip"})],
        "not-a-pdf",
        "",
    ),
    Bad("truncated", lambda pdf: [Reply(pdf[: len(pdf) // 2])], "truncated", "no end (%%EOF). Open the address"),
    Bad("no-length-cut", lambda pdf: [Reply(pdf, length=None, cut_after=3000)], "truncated", "cut off"),
    Bad("garbage", lambda pdf: [Reply(b"%PDF-1.7\n" + b"garbage " * 900)], "truncated", "cut off"),
    Bad("garbage-with-an-end", lambda pdf: [Reply(LOOKS_GOOD)], "unreadable", " "),
    Bad("no-pages", lambda pdf: [Reply(NO_PAGES)], "unreadable", "The PDF at "),
    Bad("encrypted", encrypted, "unreadable", "cannot be opened (encrypted)"),
    Bad("to-metadata", redirect("http://169.254.169.254/latest"), "refused-address", "a cloud's metadata service"),
    Bad("to-private", INSIDE, "refused-address", "10.0.0.1, a private network"),
    Bad("to-mapped", redirect("http://[::ffff:127.0.0.1]/"), "refused-address", "an IPv4 address in disguise"),
    Bad("to-unspecified", redirect("http://0.0.0.0/"), "refused-address", "this machine itself"),
    Bad("to-a-port", redirect("http://93.184.215.14:22/"), "refused-address", "port 22"),
    Bad("to-decimal", redirect("http://2130706433/"), "bad-url", "a number in an unusual form"),
    Bad(
        "to-file", redirect("file:///etc/passwd"), "bad-url", "redirects: file:///etc/passwd is not fetched: its scheme"
    ),
    Bad("to-ftp", redirect("ftp://example.org/a.pdf"), "bad-url", "its scheme is ftp"),
    Bad("to-javascript", redirect("javascript:alert(1)"), "bad-url", "its scheme is javascript"),
    Bad("to-data", redirect("data:application/pdf;base64,JVBERi0="), "bad-url", "its scheme is data"),
    Bad("to-nonsense", redirect("http://[::1"), "bad-url", "is not a URL"),
    Bad("to-no-host", redirect("https://"), "bad-url", "names no host"),
    Bad("to-credentials", redirect("https://me:secret@example.org/"), "bad-url", "a user name or a password"),
    Bad("to-nowhere", redirect(""), "redirect", "redirects (302) without a target"),
    Bad("to-blank", redirect("   "), "redirect", "without a target"),
    Bad("loop", redirect("/paper.pdf"), "redirect", "redirects again, after 10 redirects", 11),
    Bad("silent", lambda pdf: [Raw(holds=True)], "network", "did not answer for 0.2 s", 4, rules=SHORT),
    Bad("silent-in-headers", lambda pdf: [Raw(OK, holds=True)], "network", "did not answer", 4, rules=SHORT),
    Bad(
        "silent-in-body",
        lambda pdf: [Raw(OK + b'ETag: "v1"\r\nContent-Length: 9999\r\n\r\n' + pdf[:1500], holds=True)],
        "network",
        "did not answer",
        4,
        SHORT,
    ),
    Bad(
        "trickle", trickle, "time", "took longer than the 60 s that one file may take", tick=0.1, rules={"total_s": 60}
    ),
]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_ends_with_one_clear_line(case, server, pdf, tmp_path):
    parts, clock = tmp_path / "parts", Clock(case.tick)
    replies = [Reply(encrypted(pdf, tmp_path))] if case.script is encrypted else case.script(pdf)
    url = server.on("/paper.pdf", *replies)
    with fetcher(clock, **case.rules) as network, pytest.raises(SourceError) as caught:
        network.pdf(url, parts)
    error = caught.value
    assert case.said in str(error)
    assert error.reason == case.reason
    assert str(error).isprintable()
    assert "secret" not in str(error)
    assert len(error.message) < 400
    assert error.fix
    assert len(server.asked("/paper.pdf")) == case.requests
    assert not parts.exists() or list(parts.iterdir()) == []


@pytest.mark.parametrize("reply", [Raw(OK + b"X: ", endless=b"x"), Raw(endless=b"HTTP/1.1 103 Early Hints\r\n\r\n")])
def test_headers_that_come_bit_by_bit_end_in_time(reply, server, tmp_path):
    url = server.on("/paper.pdf", reply)
    network = fetcher(Clock(), total_s=0.3)
    network.client = HttpClient(network.client.rules, sleep=lambda _: None)
    with network, pytest.raises(SourceError, match=r"took longer than the 0\.3 s|Receive buffer too long"):
        network.pdf(url, tmp_path)


@pytest.mark.parametrize("hops", [10, 11])
def test_ten_redirects_are_followed_and_no_more(hops, server, pdf, tmp_path):
    for hop in range(hops):
        server.on(f"/{hop}", Reply(b"", (301, 302, 303, 307, 308)[hop % 5], {"Location": f"../{hop + 1}?x=1#y"}))
    server.on(f"/{hops}", Reply(pdf))
    with fetcher() as network:
        if hops == 10:
            got = network.pdf(f"{server.url}/0", tmp_path)
            assert got.url == f"{server.url}/10?x=1"
        else:
            with pytest.raises(SourceError, match="redirects again, after 10 redirects"):
                network.pdf(f"{server.url}/0", tmp_path)
            assert server.asked("/11") == []
