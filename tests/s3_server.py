"""A real S3 server (moto's) on loopback, and in front of it one that fails, is slow, or forgets."""

import logging
import os
import re
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import certifi
import pytest

KEY, SECRET = "AKIALOOPBACKKEY", "not-to-be-seen-anywhere"
BUCKET = "lab"
REGION = "us-east-1"


def without(name):
    """For `spoil`: a listing that lacks the objects whose keys end so."""
    contents = rf"<Contents>\s*<Key>[^<]*{re.escape(name)}</Key>.*?</Contents>".encode()
    return lambda listing: re.sub(contents, b"", listing, flags=re.S)


def access(url):
    """The variables that name a server on loopback and a key, and nothing of the person's own access to S3."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ALLOW_HTTP": "true",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_MAX_ATTEMPTS": "2",
        "SSL_CERT_FILE": certifi.where(),  # LanceDB's client wants some, also of a server that needs none
    }


class FaultyS3:
    """Passes requests on to the server behind it, but for those that it was told to spoil; it counts downloads."""

    def __init__(self, behind):
        self._behind = behind
        self._faults = []
        self.requests = []
        self._news = threading.Condition()
        self._over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self):
        self._over.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def spoil(self, part, how, times=1_000):
        """What becomes of requests with `part` in `GET /bucket/key?query`.

        `how` is an HTTP status with S3's code, or "close", "silent", "cut", or a function of the reply's bytes.
        """
        self._faults.append([part, how, times])

    def heal(self):
        """Forget all faults and requests; those that wait are let go."""
        self._over.set()
        self._over = threading.Event()
        self._faults.clear()
        self.requests.clear()

    def asked_for(self, part):
        """Wait for a request with `part`; whether it came within a minute."""
        with self._news:
            return self._news.wait_for(lambda: any(part in line for line in self.requests), 60)

    def downloads(self):
        """The objects whose bytes were asked for."""
        return [line.partition(f"/{BUCKET}/")[2].partition("?")[0] for line in self.requests if self._is_download(line)]

    @staticmethod
    def _is_download(line):
        return line.startswith(f"GET /{BUCKET}/") and line.partition("?")[0].endswith(".pdf")

    def _how(self, line):
        for fault in self._faults:
            if fault[0] in line and fault[2]:
                fault[2] -= 1
                return fault[1]
        return ""

    def _handler(proxy):  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # head and body are written by themselves

            def handle_one(self):
                line = unquote(f"{self.command} {self.path}")
                with proxy._news:
                    proxy.requests.append(line)
                    proxy._news.notify_all()
                how = proxy._how(line)
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                if how == "silent":
                    proxy._over.wait()
                if how in ("silent", "close"):
                    self.close_connection = True
                    return
                if isinstance(how, str) and how[:3].isdecimal():
                    code = how[4:]
                    text = f"<Error><Code>{code}</Code><Message>key {KEY} {SECRET}</Message></Error>".encode()
                    self.answer(int(how[:3]), [("Content-Type", "application/xml")], text)
                    return
                behind = HTTPConnection(*proxy._behind, timeout=30)
                behind.request(self.command, self.path, body, dict(self.headers.items()))
                reply = behind.getresponse()
                content, length = reply.read(), reply.headers.get("Content-Length", "0")
                behind.close()
                content = how(content) if callable(how) else content
                headers = [
                    (name, value)
                    for name, value in reply.headers.items()
                    if name.lower() not in ("content-length", "connection", "transfer-encoding", "date", "server")
                    and not (callable(how) and "checksum" in name.lower())
                ]
                size = int(length) if self.command == "HEAD" else len(content)
                self.answer(reply.status, headers, content[: size // 2] if how == "cut" else content, size)
                self.close_connection |= how == "cut"

            def answer(self, status, headers, content, size=None):
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(content) if size is None else size))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(content)

            do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_one  # noqa: N815

            def log_message(self, *_):
                pass

        return Handler


def moto_server():
    """Moto's S3 in a thread of this process; the test is skipped, and says so, where it is not installed."""
    server = pytest.importorskip("moto.server", reason="moto[s3] and flask are not installed (requirements-dev.txt)")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    from moto import backends

    known = tuple(backends.list_of_moto_modules())  # it looks at its own folders with each request
    backends.list_of_moto_modules = lambda: known
    started = server.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    started.start()
    return started


def client_of(url):
    """boto3's client of a server on loopback."""
    import boto3

    return boto3.client("s3", endpoint_url=url, aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name=REGION)
