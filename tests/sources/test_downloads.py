"""A fetcher over more than one request: pauses, how long a server is left alone, several runs, small answers, TLS."""

import contextlib
import resource
import ssl
import subprocess
from dataclasses import replace

import httpx
import pytest

from ragscience.core.errors import SourceError
from ragscience.sources.allowed_addresses import checked_url
from ragscience.sources.downloads import why_unreadable
from ragscience.sources.http_client import USER_AGENT, seconds_to_wait
from tests.pdf_factory import make_pdf, make_raw_pdf
from tests.sources.fault_server import FaultServer, Reply
from tests.sources.fetching import RULES, Clock, fetcher

ATOM = "application/atom+xml"


def test_requests_to_one_host_begin_three_seconds_apart(server, pdf, tmp_path):
    clock = Clock()
    server.on("/feed", Reply(b"<feed/>", content_type=ATOM))
    server.on("/a.pdf", Reply(b"", 302, {"Location": "/b.pdf"}))
    server.on("/b.pdf", Reply(pdf))
    with fetcher(clock, pause_s=3) as network:
        network.get(f"{server.url}/feed", max_bytes=100)
        clock.now += 1
        network.pdf(f"{server.url}/a.pdf", tmp_path)
        assert clock.slept == [2, 3]
        network.get(f"http://localhost:{server.port}/feed", max_bytes=100)
        assert clock.slept == [2, 3]


def test_pauses_do_not_count_as_time_of_the_file(server, pdf, tmp_path):
    clock = Clock()
    server.on("/a.pdf", *[Reply(b"", 429, {"Retry-After": "100"})] * 3, Reply(pdf))
    with fetcher(clock, total_s=30) as network:
        assert network.pdf(f"{server.url}/a.pdf", tmp_path).size == len(pdf)
    assert clock.slept == [100, 100, 100]
    server.on("/b.pdf", Reply(b"", 302, {"Location": "/a.pdf"}))
    with fetcher(clock, total_s=30, pause_s=40) as network:
        assert network.pdf(f"{server.url}/b.pdf", tmp_path).size == len(pdf)
    assert clock.slept[3:] == [40]


def test_what_is_sent_names_the_project_and_nothing_of_the_user(server, pdf, tmp_path):
    server.on("/a.pdf", Reply(pdf))
    with fetcher() as network:
        network.pdf(f"{server.url}/a.pdf", tmp_path)
    assert server.requests[0].headers == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": USER_AGENT,
        "accept": "application/pdf, */*;q=0.5",
        "accept-encoding": "identity",
        "connection": "close",
    }


@contextlib.contextmanager
def file_limit(count):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_without_room_is_one_line(server, pdf, tmp_path):
    url = server.on("/a.pdf", Reply(pdf))
    with fetcher() as network, file_limit(4000), pytest.raises(SourceError, match="The disk is full") as caught:
        network.pdf(url, tmp_path / "parts")
    assert caught.value.reason == "disk"
    assert list((tmp_path / "parts").iterdir()) == []


@pytest.fixture(scope="session")
def certificate(tmp_path_factory):
    """A certificate for papers.test, with its key; made by openssl."""
    folder = tmp_path_factory.mktemp("tls")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj /CN=papers.test"
    command += " -addext subjectAltName=DNS:papers.test -keyout key.pem -out cert.pem"
    try:
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs openssl")
    return folder


@pytest.fixture
def tls_server(certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    with FaultServer(context) as server:
        yield server


def test_tls_is_checked_against_the_name_though_the_address_is_connected_to(certificate, tls_server, pdf, tmp_path):
    tls_server.on("/a.pdf", Reply(pdf))
    trusting = ssl.create_default_context(cafile=certificate / "cert.pem")
    with fetcher(resolve=lambda host, port: ["127.0.0.1"], tls=trusting) as network:
        url = f"https://papers.test:{tls_server.port}/a.pdf"
        assert network.pdf(url, tmp_path).path.read_bytes() == pdf
        with pytest.raises(
            SourceError, match=r"The certificate of other\.test is not to be trusted: Hostname mismatch"
        ) as caught:
            network.pdf(f"https://other.test:{tls_server.port}/a.pdf", tmp_path)
        assert caught.value.reason == "tls"
    assert len(tls_server.asked("/a.pdf")) == 1


def test_from_https_no_redirect_leads_to_http():
    base = httpx.URL("https://papers.test/a.pdf")
    with pytest.raises(SourceError, match=r"http://papers\.test/b.pdf is not fetched: it is not encrypted"):
        checked_url("http://papers.test/b.pdf", replace(RULES, allow_loopback=False), base)


def test_a_file_is_opened_in_a_process_of_its_own(tmp_path, server, pdf):
    good = make_pdf(tmp_path / "good.pdf", ["text"])
    bad = make_raw_pdf(
        tmp_path / "bad.pdf", [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>"]
    )
    assert why_unreadable(good) == ""
    assert why_unreadable(bad) == "cannot be opened (no-pages)"
    assert why_unreadable(make_pdf(tmp_path / "locked.pdf", ["x"], user_password="x")) == "cannot be opened (encrypted)"
    server.on("/a.pdf", Reply(pdf))
    with fetcher(unreadable=why_unreadable) as network:
        assert network.pdf(f"{server.url}/a.pdf", tmp_path / "parts").size == len(pdf)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", 0), ("0", 0), (" 17 ", 17), ("000000000017", 17), ("-5", 0), ("1.5", 0), ("1e9", 0), ("\u0661", 0),
        ("soon", 0), ("9" * 5000, float("inf")), ("Sun, 01 Mar 2026 12:01:30 GMT", 0),
    ],
)  # fmt: skip
def test_what_retry_after_asks_for(header, seconds):
    assert seconds_to_wait(header) == seconds
