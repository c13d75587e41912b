"""Any folder of sentence-transformers as an embedder; MiniLM's own is the oracle."""

import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from ragscience.core.errors import ModelProblem
from ragscience.models.minilm import find_minilm
from ragscience.models.sentence_transformers import SentenceTransformerEmbedder, folder_digest
from tests.models.conftest import make_bert

pytestmark = pytest.mark.torch


@pytest.fixture(scope="module")
def packaged():
    return SentenceTransformerEmbedder(find_minilm(), "all-MiniLM-L6-v2")


def test_it_agrees_with_the_embedded_embedder_on_short_texts(packaged, minilm):
    texts = ["What is attention?", "", "Cells divide.", "a \ud800 b"]
    ours = packaged.embed_documents(texts)
    assert np.sum(ours * minilm.embed_documents(texts), axis=1).min() >= 0.9999
    np.testing.assert_allclose(packaged.embed_query(texts[0]), ours[0], atol=1e-5)


def test_the_identity_tells_the_folders_weights(packaged, tmp_path):
    identity = packaged.identity
    assert (identity.provider, identity.model, identity.dimension) == ("sentence-transformers", "all-MiniLM-L6-v2", 384)
    one = folder_digest(make_bert(tmp_path / "one", labels=0))
    assert one == folder_digest(make_bert(tmp_path / "same", labels=0))
    assert one != folder_digest(make_bert(tmp_path / "other", labels=0, seed=9))


def test_nothing_is_asked_of_the_hub(tmp_path):
    asked = []

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_error(404)

        def do_HEAD(self):
            self.do_GET()

        def log_message(self, *args):
            pass

    code = (
        "import sys\nfrom pathlib import Path\n"
        "from ragscience.models.sentence_transformers import SentenceTransformerEmbedder, TorchCrossEncoder\n"
        "print(SentenceTransformerEmbedder(Path(sys.argv[1]), 'own').embed_query('x').shape)\n"
        "print(TorchCrossEncoder(Path(sys.argv[2]), 'own').score('x', ['y']).shape)\n"
    )
    command = [sys.executable, "-c", code, make_bert(tmp_path / "a", labels=0), make_bert(tmp_path / "b", labels=1)]
    online = {name: value for name, value in os.environ.items() if name != "HF_HUB_OFFLINE"}
    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        online["HF_ENDPOINT"] = f"http://127.0.0.1:{server.server_address[1]}"
        done = subprocess.run(command, capture_output=True, text=True, env=online, check=True)
        server.shutdown()
    assert done.stdout == "(32,)\n(1,)\n"
    assert asked == []


def test_what_cannot_be_loaded_is_told_in_one_line(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "no-such-model"}')
    with pytest.raises(ModelProblem, match="cannot load own") as caught:
        SentenceTransformerEmbedder(tmp_path, "own").embed_query("x")
    assert "\n" not in caught.value.message
