"""A client that closes its connection cancels its question, whichever way it asked."""

import json
import socket
import threading

import pytest

from tests.ollama_server import OllamaServer, chat_model
from tests.serving.conftest import serving
from tests.serving.test_question_routes import SPEED

MESSAGES = [{"role": "user", "content": SPEED}]
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
CALL = {"name": "ask", "arguments": {"question": SPEED}}
ASKED = {
    "search": ("/api/v1/search", {"question": SPEED, "rerank": "llm"}),
    "ask": ("/api/v1/ask", {"question": SPEED}),
    "ask by the agent": ("/api/v1/ask", {"question": SPEED, "agent": True}),
    "events": ("/api/v1/ask/events", {"question": SPEED}),
    "chat": ("/v1/chat/completions", {"messages": MESSAGES}),
    "streamed chat": ("/v1/chat/completions", {"messages": MESSAGES, "stream": True}),
    "mcp": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {**CALL, "_meta": META}}),
    "older mcp": ("/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": CALL}),
}


@pytest.fixture(scope="module")
def silent_server(served_home, tmp_path_factory):
    """(address, model server, log) of a server whose model says nothing."""
    log, silence = tmp_path_factory.mktemp("log") / "questions.log", threading.Event()
    with OllamaServer(models={"llama3.1:8b": chat_model()}) as ollama:
        ollama.fault("/api/chat", until=silence, times=None)
        settings = {"offline": False, "ollama_url": ollama.url, "embedder": "embedded", "log_file": str(log)}
        with serving(served_home, {"answers": 1}, **settings) as url:
            yield url, ollama, log
        assert not silence.is_set()


@pytest.mark.parametrize("how", ASKED)
def test_a_client_that_leaves_cancels_its_question(silent_server, how):
    """One question is answered at a time, so each of these is asked only where the one before has ended."""
    url, ollama, log = silent_server
    path, value = ASKED[how]
    asked, ended = len(ollama.of("/api/chat")), log.read_text().count("error=Cancelled")
    body, pause = json.dumps(value), threading.Event()
    host, port = url.removeprefix("http://").split(":")
    head = [f"POST {path} HTTP/1.1", f"Host: {host}:{port}", "Content-Type: application/json"]
    head += ["Accept: application/json, text/event-stream", f"Content-Length: {len(body)}"]
    head += ["MCP-Protocol-Version: " + ("2025-06-18" if how == "older mcp" else "2026-07-28")]
    head += ["Mcp-Method: tools/call", "Mcp-Name: ask"] if how == "mcp" else []
    with socket.create_connection((host, int(port)), timeout=60) as leaving:
        leaving.sendall("\r\n".join((*head, "", body)).encode())
        while len(ollama.of("/api/chat")) == asked:
            pause.wait(0.02)
    while log.read_text().count("error=Cancelled") == ended:
        pause.wait(0.02)
