"""A real HTTP server that speaks Ollama's API from a script, so that the real clients can be driven without a model.

    with OllamaServer(models={"llama3.1:8b": chat_model(), "nomic-embed-text:latest": embedding_model(768)}) as server:
        server.script("Attention is a weighted sum (attention.pdf, p.3).", prompt_eval_count=900)
        ...                                     # point a client at server.url
        assert server.requests[-1].body["options"]["num_ctx"] == 8192

Served: GET /  /api/version  /api/tags  /api/ps; POST /api/show  /api/chat (streamed NDJSON, or one object with
`stream: false`)  /api/embed. Shapes as in https://docs.ollama.com/api. Replies come from the queue that
`script` fills, then from `default_reply(body)`. `fault` injects what goes wrong. Embeddings
are hashed words, summed: the same text gives the same vector, texts that share words are near, and words past the
context are cut in silence, as Ollama does.
"""

from __future__ import annotations

import hashlib
import json
import re
import socket
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import cycle, islice
from typing import Any

import numpy as np

CREATED_AT = "2026-01-01T00:00:00Z"


@dataclass(frozen=True)
class ServedModel:
    """What /api/tags and /api/show say of a model; `dimension` 0 means that it chats and does not embed."""

    context_length: int
    dimension: int = 0
    digest: str = ""
    architecture: str = "llama"
    parameters: int = 8_030_000_000

    @property
    def capabilities(self) -> list[str]:
        return ["embedding"] if self.dimension else ["completion", "tools"]


def chat_model(context_length: int = 131072, digest: str = "", *, parameters: int = 8_030_000_000) -> ServedModel:
    """A model that chats."""
    return ServedModel(context_length, 0, digest, "llama", parameters)


def embedding_model(dimension: int = 768, context_length: int = 2048, digest: str = "") -> ServedModel:
    """A model that embeds."""
    return ServedModel(context_length, dimension, digest, "nomic-bert")


@dataclass(frozen=True)
class Request:
    """One request as it arrived: `body` is the parsed JSON, or None without one."""

    method: str
    path: str
    body: Any


@dataclass
class Fault:
    """What goes wrong with a path: with its next `times` requests (None: all), once `after` of them went well."""

    path: str
    status: int = 200
    error: str = ""
    """Answered as {"error": …} with `status`; with 200 it is a line in the stream, as of Ollama once it began."""
    until: threading.Event | None = None
    """The answer, or with `cut_after` its rest, is held back until this is set, or the server closes."""
    cut_after: int | None = None
    """The connection is cut after so many lines of the stream; 0: without any answer."""
    resumes: bool = False
    """With `cut_after` and `until`: nothing is cut, the rest of the stream comes when `until` is set."""
    malformed: bool = False
    """Answered with broken JSON."""
    dimension: int | None = None
    """Embeddings get this dimension."""
    after: int = 0
    times: int | None = 1


@dataclass(frozen=True)
class Reply:
    """One scripted reply of a chat model."""

    pieces: tuple[str, ...]
    prompt_eval_count: int | None = None
    eval_count: int | None = None
    tool_calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    """Names and arguments of tools that it calls, behind its text."""
    endless: bool = False
    """The pieces come over and over, until the client leaves."""


def hashed_embedding(text: str, dimension: int) -> list[float]:
    """A unit vector: each word adds a direction of its own, chosen by its hash."""
    words = re.findall(r"\w+", text.casefold()) or [""]
    total = np.zeros(dimension)
    for word in words:
        seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "little")
        total += np.random.default_rng(seed).standard_normal(dimension)
    return (total / np.linalg.norm(total)).tolist()


def word_pieces(text: str) -> tuple[str, ...]:
    """The reply as it is streamed: a word with the blanks before it is one piece."""
    return tuple(re.findall(r"\s*\S+|\s+$", text))


@dataclass
class OllamaServer:
    """The server; a context manager that listens on a free loopback port.

    `models` is a mapping of names to `ServedModel`, or just names (those with "embed" or "minilm" in them embed).
    """

    models: Mapping[str, ServedModel] | Sequence[str] = ()
    version: str = "0.13.5"
    default_reply: Callable[[dict[str, Any]], str] = lambda body: "I could not find this in your papers."
    scale: float = 1.0
    """What every embedding is multiplied with: Ollama's own are of unit length, some servers' are not."""
    count_tokens: Callable[[str], int] | None = None
    """Counts a prompt's tokens. With it, a prompt beyond the window is cut as by Ollama: in silence, to half of it."""
    served_context: int | None = None
    """The window that is served, whatever a request asks for; told by /api/ps."""
    cut_prompts: int = 0
    """How many prompts were cut."""
    requests: list[Request] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not isinstance(self.models, Mapping):
            self.models = {
                name: embedding_model() if "embed" in name or "minilm" in name else chat_model() for name in self.models
            }
        self.models = dict(self.models)
        self._replies: deque[Reply] = deque()
        self._faults: list[Fault] = []
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None
        self._thread: threading.Thread | None = None

    def script(
        self,
        *texts: str,
        pieces: Sequence[str] | None = None,
        prompt_eval_count: int | None = None,
        eval_count: int | None = None,
        endless: bool = False,
        tool_calls: Sequence[tuple[str, Mapping[str, Any]]] = (),
    ) -> None:
        """Queue replies of the chat model, one a text; `pieces` gives one reply already cut as it is to be streamed.

        One that is `endless` begins anew until the client leaves, which only a streamed reply can.
        """
        cut = [tuple(pieces)] if pieces is not None else []
        called = [()] if tool_calls and not (texts or cut) else []
        for each in [*map(word_pieces, texts), *cut, *called]:
            self._replies.append(Reply(each, prompt_eval_count, eval_count, tuple(tool_calls), endless))

    def fault(self, path: str, **how: Any) -> Fault:
        """Let requests of `path` go wrong; `how` as the fields of `Fault`."""
        fault = Fault(path, **how)
        self._faults.append(fault)
        return fault

    def clear_faults(self) -> None:
        """From now on all goes well."""
        with self._lock:
            self._faults.clear()

    def of(self, path: str) -> list[Any]:
        """The bodies of the requests of a path, in the order of their arrival."""
        return [request.body for request in self.requests if request.path == path]

    @property
    def url(self) -> str:
        assert self._server is not None, "the server is not open"
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> OllamaServer:
        handler = type("Handler", (_Handler,), {"script": self})
        self._server = _QuietServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        for fault in self._faults:
            if fault.until is not None:
                fault.until.set()
        assert self._server is not None
        assert self._thread is not None
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def arrived(self, request: Request) -> Fault | None:
        """Record a request; the fault that it meets, if any."""
        with self._lock:
            self.requests.append(request)
            for fault in self._faults:
                if fault.path != request.path or fault.times == 0:
                    continue
                if fault.after > 0:
                    fault.after -= 1
                    continue
                if fault.times is not None:
                    fault.times -= 1
                return fault
        return None

    def next_reply(self, body: dict[str, Any]) -> Reply:
        with self._lock:
            if self._replies:
                return self._replies.popleft()
        return Reply(word_pieces(self.default_reply(body)))

    def loaded(self) -> list[str]:
        """The models that have chatted."""
        return list(dict.fromkeys(body["model"] for body in self.of("/api/chat")))

    def read_prompt(self, body: dict[str, Any]) -> int | None:
        """The tokens of the prompt that a model gets to read; None where they are not counted."""
        if self.count_tokens is None:
            return None
        asked = body["messages"]
        tokens = sum(self.count_tokens(message["content"]) + 8 for message in asked)
        window = min(body["options"]["num_ctx"], self.served_context or tokens)
        if tokens <= window:
            return tokens
        with self._lock:
            self.cut_prompts += 1
        return window // 2 + 2

    def find(self, name: str) -> tuple[str, ServedModel] | None:
        assert isinstance(self.models, Mapping)
        for known in (name, f"{name}:latest", name.removesuffix(":latest")):
            if known in self.models:
                return known, self.models[known]
        return None

    def digest(self, name: str) -> str:
        assert isinstance(self.models, Mapping)
        return self.models[name].digest or hashlib.sha256(name.encode()).hexdigest()


def _held_back(lines: Iterable[dict[str, Any]], fault: Fault) -> Iterator[dict[str, Any]]:
    assert fault.until is not None
    for number, line in enumerate(lines):
        if number == fault.cut_after:
            fault.until.wait()
        yield line


class _QuietServer(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news; anything else is a fault of the test."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    script: OllamaServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are written by themselves

    def log_message(self, *args: object) -> None:
        pass

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self) -> None:
        self._serve("GET", None)

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        self._serve("POST", json.loads(raw) if raw else {})

    def _serve(self, method: str, body: Any) -> None:
        fault = self.script.arrived(Request(method, self.path, body))
        if fault is not None:
            if fault.until is not None and not fault.cut_after:
                fault.until.wait()
                if self._has_left():
                    return  # whose answer would be taken from the next one
            if fault.cut_after == 0:
                self.close_connection = True
                return
            if fault.malformed:
                self._send(b'{"model": "broken", "embeddings": [[0.1, ', 200)
                return
            if fault.status != 200:
                self._json({"error": fault.error}, fault.status)
                return
        if method == "GET":
            self._get()
        else:
            self._post(body, fault)

    def _has_left(self) -> bool:
        """Whether the client has closed its connection."""
        self.connection.setblocking(False)
        try:
            return self.connection.recv(1, socket.MSG_PEEK) == b""
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        finally:
            self.connection.setblocking(True)

    def _get(self) -> None:
        if self.path == "/":
            self._send(b"Ollama is running", 200, "text/plain; charset=utf-8")
        elif self.path == "/api/version":
            self._json({"version": self.script.version})
        elif self.path == "/api/tags":
            self._json({"models": [self._card(name) for name in self.script.models]})
        elif self.path == "/api/ps":
            self._json({"models": [self._card(name) | self._loaded() for name in self.script.loaded()]})
        else:
            self._send(b"404 page not found", 404, "text/plain")

    def _loaded(self) -> dict[str, Any]:
        served = self.script.served_context
        return {"expires_at": CREATED_AT, "size_vram": 0} | ({"context_length": served} if served else {})

    def _card(self, name: str) -> dict[str, Any]:
        _, model = self.script.find(name) or ("", chat_model())
        details = {"format": "gguf", "family": model.architecture}
        card = {"name": name, "model": name, "modified_at": CREATED_AT, "size": 1000, "details": details}
        return card | {"digest": self.script.digest(name)}

    def _post(self, body: dict[str, Any], fault: Fault | None) -> None:
        name = str(body.get("model") or body.get("name") or "")
        found = self.script.find(name)
        if found is None:
            self._json({"error": f"model '{name}' not found"}, 404)
        elif self.path == "/api/show":
            self._show(*found)
        elif self.path == "/api/embed":
            self._embed(body, found[1], fault)
        elif self.path == "/api/chat":
            if found[1].dimension:
                self._json({"error": f'"{name}" does not support chat'}, 400)
            else:
                self._complete(body, name, fault)
        else:
            self._send(b"404 page not found", 404, "text/plain")

    def _show(self, name: str, model: ServedModel) -> None:
        info: dict[str, Any] = {"general.architecture": model.architecture, "general.parameter_count": model.parameters}
        info[f"{model.architecture}.context_length"] = model.context_length
        info[f"{model.architecture}.embedding_length"] = model.dimension or 4096
        self._json(
            {"modelfile": "", "template": "", "details": self._card(name)["details"], "model_info": info}
            | {"capabilities": model.capabilities, "modified_at": CREATED_AT}
        )

    def _embed(self, body: dict[str, Any], model: ServedModel, fault: Fault | None) -> None:
        if not model.dimension:
            self._json({"error": "this model does not support embeddings"}, 501)
            return
        given = body.get("input", "")
        texts = [given] if isinstance(given, str) else list(given)
        dimension = fault.dimension if fault is not None and fault.dimension is not None else model.dimension
        vectors, tokens = [], 0
        for text in texts:
            seen = text.split()[: model.context_length]
            tokens += len(seen)
            vectors.append([x * self.script.scale for x in hashed_embedding(" ".join(seen), dimension)])
        self._json({"model": body.get("model"), "embeddings": vectors, "prompt_eval_count": tokens})

    def _complete(self, body: dict[str, Any], name: str, fault: Fault | None) -> None:
        reply = self.script.next_reply(body)
        streamed = body.get("stream", True)
        asked = body["messages"]
        told = reply.prompt_eval_count if reply.prompt_eval_count is not None else self.script.read_prompt(body)
        prompt_tokens = max(1, len(json.dumps(asked)) // 4) if told is None else told
        tokens = len(reply.pieces) if reply.eval_count is None else reply.eval_count
        last = {"done": True, "done_reason": "stop", "total_duration": 2, "load_duration": 1}
        last |= {"prompt_eval_count": prompt_tokens, "prompt_eval_duration": 1, "eval_count": tokens}
        if not prompt_tokens:  # as early versions did where their cache held the whole prompt
            del last["prompt_eval_count"]
        last |= {"eval_duration": 1}
        if streamed:
            lines = [self._turn(name, piece) | {"done": False} for piece in reply.pieces]
            lines += [self._calling(name, *called) | {"done": False} for called in reply.tool_calls]
            self._stream(cycle(lines) if reply.endless else [*lines, self._turn(name, "") | last], fault)
        elif fault is not None and fault.cut_after is not None:
            self.close_connection = True
        else:
            self._json(self._turn(name, "".join(reply.pieces)) | last)

    def _turn(self, name: str, text: str) -> dict[str, Any]:
        return {"model": name, "created_at": CREATED_AT, "message": {"role": "assistant", "content": text}}

    def _calling(self, name: str, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        turn = self._turn(name, "")
        turn["message"]["tool_calls"] = [{"function": {"name": tool, "arguments": arguments}}]
        return turn

    def _stream(self, lines: Iterable[dict[str, Any]], fault: Fault | None) -> None:
        self.send_response(200)
        self.send_header("content-type", "application/x-ndjson")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        cut = fault.cut_after if fault is not None else None
        if fault is not None and fault.resumes:
            lines, cut = _held_back(lines, fault), None
        if fault is not None and fault.error:
            lines = [*islice(lines, cut or 1), {"error": fault.error}]
            cut = None
        for line in islice(lines, cut):
            data = json.dumps(line).encode() + b"\n"
            self.wfile.write(b"%x\r\n" % len(data) + data + b"\r\n")
            self.wfile.flush()
        if cut is None:
            self.wfile.write(b"0\r\n\r\n")
        else:
            if fault is not None and fault.until is not None:
                fault.until.wait()
            self.close_connection = True

    def _json(self, obj: Any, status: int = 200) -> None:
        self._send(json.dumps(obj).encode(), status)

    def _send(self, body: bytes, status: int, kind: str = "application/json; charset=utf-8") -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
