"""Any folder of sentence-transformers as an embedder; MiniLM's own is the oracle."""

import numpy as np
import pytest

from ragscience.core.errors import ModelProblem
from ragscience.models.local_models import SentenceTransformerEmbedder, folder_digest
from ragscience.models.minilm import find_minilm
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


def test_what_cannot_be_loaded_is_told_in_one_line(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "no-such-model"}')
    with pytest.raises(ModelProblem, match="cannot load own") as caught:
        SentenceTransformerEmbedder(tmp_path, "own").embed_query("x")
    assert "\n" not in caught.value.message
