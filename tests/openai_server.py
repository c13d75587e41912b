"""A real HTTP server that speaks OpenAI's API from a script, as llama.cpp's server, vLLM and LM Studio do.

    with OpenAIServer(models=("qwen",), context=8192) as server:
        server.script("Attention is a weighted sum (attention.pdf, p.3).")
        ...                                     # point a client at server.url, which ends in /v1
        assert server.of("/v1/chat/completions")[-1]["messages"][0]["role"] == "system"

Served: GET /v1/models  /props; POST /v1/chat/completions (streamed alone)  /v1/embeddings. `raw` answers the next
request of a path with bytes as they are: for what no good server sends.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.ollama_server import hashed_embedding, word_pieces

DONE = b"data: [DONE]\n\n"
EVENTS = "text/event-stream"


def event(value: Any) -> bytes:
    """A server-sent event."""
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(text: str | None = None, *, reason: str | None = None, **delta: Any) -> dict[str, Any]:
    """A chunk of a streamed completion."""
    said = {"content": text} | delta if text is not None else dict(delta)
    choice = {"index": 0, "delta": said, "finish_reason": reason}
    return {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


def usage(prompt: Any, answer: Any) -> dict[str, Any]:
    """The last chunk, with the counts."""
    counts = {"prompt_tokens": prompt, "completion_tokens": answer, "total_tokens": prompt}
    return chunk() | {"choices": [], "usage": counts}


@dataclass
class Raw:
    """An answer that is sent as it is."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = EVENTS
    endless: bytes = b""
    """Sent over and over behind the body, until the client leaves."""
    until: threading.Event | None = None
    """Before the connection ends, this is waited for: the client sees a silence."""
    silent_first: bool = False
    """The silence comes before everything, the status line too."""
    length: int | None = None
    """Announced as content-length, whatever comes."""


@dataclass
class OpenAIServer:
    """The server; a context manager that listens on a free loopback port."""

    models: Sequence[str] = ("qwen",)
    context: int | None = 8192
    """What /props tells; None: there is no /props."""
    dimension: int = 16
    key: str = ""
    """The key that it wants."""
    embedding: Callable[[str, int], list[float]] = hashed_embedding
    default: str = "I could not find this in your papers."
    requests: list[tuple[str, Any, Mapping[str, str]]] = field(default_factory=list)
    """Path, body and headers of each."""

    def __post_init__(self) -> None:
        self._events: deque[list[Any]] = deque()
        self._raw: dict[str, deque[Raw]] = {}
        self._server: ThreadingHTTPServer | None = None
        self.closing = threading.Event()

    def script(
        self,
        text: str = "",
        *,
        pieces: Sequence[str] | None = None,
        counts: tuple[Any, Any] = (100, 10),
        more: Sequence[Any] = (),
    ) -> None:
        """Queue a reply; `more` are chunks before its text."""
        made = [*more, *(chunk(piece) for piece in (word_pieces(text) if pieces is None else pieces))]
        self._events.append([*made, chunk(reason="stop"), usage(*counts)])

    def raw(self, *answers: Raw, path: str = "/v1/chat/completions") -> None:
        """Queue answers to requests of a path that are sent as they are."""
        self._raw.setdefault(path, deque()).extend(answers)

    def of(self, path: str) -> list[Any]:
        """The bodies of the requests of a path."""
        return [body for each, body, _ in self.requests if each == path]

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> OpenAIServer:
        handler = type("Handler", (_Handler,), {"script": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_raw(self, path: str) -> Raw | None:
        queue = self._raw.get(path)
        return queue.popleft() if queue else None

    def next_events(self) -> list[Any]:
        return self._events.popleft() if self._events else [chunk(self.default), chunk(reason="stop")]


class _Handler(BaseHTTPRequestHandler):
    script: OpenAIServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are written by themselves

    def log_message(self, *_: Any) -> None:
        """Nothing on stderr."""

    def handle(self) -> None:
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        self._answer(None)

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}"))

    def _answer(self, body: Any) -> None:
        script = self.script
        script.requests.append((self.path, body, {name.casefold(): value for name, value in self.headers.items()}))
        raw = script.next_raw(self.path)
        if raw is not None:
            self._send_raw(raw)
        elif script.key and self.headers.get("authorization") != f"Bearer {script.key}":
            given = self.headers.get("authorization", "")
            self._json({"error": {"message": f"Invalid API Key: {given}", "code": 401}}, 401)
        elif self.path == "/v1/models":
            self._json({"object": "list", "data": [{"id": name, "object": "model"} for name in script.models]})
        elif self.path == "/props" and script.context:
            caps = {"supports_tools": True}
            self._json({"default_generation_settings": {"n_ctx": script.context}, "chat_template_caps": caps})
        elif body is not None and body.get("model") not in script.models:
            self._json({"error": {"message": f"model {body.get('model')} not found", "code": 404}}, 404)
        elif self.path == "/v1/chat/completions":
            self._send_raw(Raw(b"".join(map(event, script.next_events())) + DONE))
        elif self.path == "/v1/embeddings":
            rows = [script.embedding(text, script.dimension) for text in body["input"]]
            data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
            self._json({"object": "list", "model": body["model"], "data": data, "usage": {"prompt_tokens": 1}})
        else:
            self._json({"error": {"message": "File Not Found", "code": 404}}, 404)

    def _json(self, value: Any, status: int = 200) -> None:
        body = json.dumps(value).encode()
        self._send_raw(Raw(body, status, kind="application/json", length=len(body)))

    def _send_raw(self, raw: Raw) -> None:
        if raw.silent_first and raw.until is not None:
            self._wait(raw.until)
        self.send_response(raw.status)
        self.send_header("content-type", raw.kind)
        for name, value in raw.headers.items():
            self.send_header(name, value)
        if raw.length is not None:
            self.send_header("content-length", str(raw.length))
        else:
            self.send_header("connection", "close")
            self.close_connection = True
        self.end_headers()
        self.wfile.write(raw.body)
        self.wfile.flush()
        with suppress(ConnectionError):
            while raw.endless and not self.script.closing.is_set():
                self.wfile.write(raw.endless)
        if raw.until is not None and not raw.silent_first:
            self._wait(raw.until)
        if raw.length is not None and raw.length > len(raw.body):
            self.close_connection = True

    def _wait(self, until: threading.Event) -> None:
        while not until.wait(0.02) and not self.script.closing.is_set():
            pass
