"""Downloads from a hub that is a server in this test."""

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ragscience.core.errors import ModelProblem
from ragscience.models.model_download import find_on_this_machine, pull_model
from tests.conftest import NOBODY
from tests.models.conftest import make_bert

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """What huggingface_hub needs of a hub: what a model has, HEAD and GET of OWNER/NAME/resolve/REVISION/FILE."""

    repository = "tiny/cross"
    files: dict[str, bytes]
    asked: list[tuple[str, str]]

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.answer(body=False)

    def do_GET(self):
        self.answer(body=True)

    def answer(self, *, body):
        self.asked.append((self.command, self.path))
        if self.path.startswith(f"/api/models/{self.repository}"):
            listed = [{"type": "file", "path": name, "size": 1, "oid": "0" * 40} for name in self.files]
            listed = listed if "/tree/" in self.path else {"id": self.repository, "sha": COMMIT}
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(listed).encode())
            return
        repository, _, rest = self.path.lstrip("/").partition("/resolve/")
        content = self.files.get(rest.partition("/")[2]) if repository == self.repository else None
        self.send_response(200 if content is not None else 404)
        if content is None:
            self.send_header("X-Error-Code", "EntryNotFound" if repository == self.repository else "RepoNotFound")
        else:
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
            self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("Content-Length", str(len(content or b"")))
        self.end_headers()
        if body and content:
            self.wfile.write(content)


def go_online(monkeypatch, url, cache):
    monkeypatch.setenv("HF_ENDPOINT", url)
    monkeypatch.setenv("HF_HUB_CACHE", str(cache))
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    # huggingface_hub read the environment when it was first imported, maybe by an earlier test.
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)


@contextmanager
def serving(folder, repository, monkeypatch, cache):
    """A hub on loopback that has the files of `folder` as those of `repository`; gives its handler."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    handler = type("TinyHub", (Hub,), {"files": files, "repository": repository, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    go_online(monkeypatch, f"http://127.0.0.1:{server.server_address[1]}", cache)
    try:
        yield handler
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_layers_with_folders_of_their_own_come_along(tmp_path, monkeypatch):
    folder = make_bert(tmp_path / "source", labels=0)
    layers = [{"path": "", "type": "Transformer"}, {"path": "1_Pooling", "type": "Pooling"}, {"path": "2_Dense"}]
    (folder / "modules.json").write_text(json.dumps(layers))
    for name in ("1_Pooling/config.json", "2_Dense/config.json", "2_Dense/model.safetensors"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(name.encode())
    with serving(folder, "cross-encoder/ettin-reranker-17m-v1", monkeypatch, tmp_path / "hub"):
        fetched = pull_model("ettin-reranker-17m-v1")
    assert find_on_this_machine("ettin-reranker-17m-v1") == fetched
    for name in ("modules.json", "model.safetensors", "1_Pooling/config.json", "2_Dense/model.safetensors"):
        assert (fetched / name).read_bytes() == (folder / name).read_bytes()


def test_without_network_one_clear_line(tmp_path, monkeypatch):
    go_online(monkeypatch, NOBODY, tmp_path / "hub")
    with pytest.raises(ModelProblem, match="cannot be reached") as caught:
        pull_model("tiny/cross")
    assert "\n" not in caught.value.message
