"""The reranker gives sentence-transformers' scores, and says what is wrong with a folder."""

import numpy as np
import pytest

from ragscience.core.errors import ModelProblem
from ragscience.models.local_models import OnnxCrossEncoder, TorchCrossEncoder, open_cross_encoder
from ragscience.models.model_download import find_on_this_machine
from tests.models.conftest import make_bert

NAME = "cross-encoder/ms-marco-MiniLM-L-6-v2"
QUESTION = "Which BLEU score does the Transformer reach?"
PASSAGES = ["It reaches 28.4 BLEU.", "", "Cells divide. " * 300, "naïve Ω \U0001f600", "attention " * 60, "x"]


def opened(folder, cache, warnings=None):
    notify = pytest.fail if warnings is None else warnings.append
    return open_cross_encoder(folder, NAME, cache_folder=cache, on_warning=notify)


@pytest.mark.torch
@pytest.mark.parametrize(
    "named",
    [
        {"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}},
        {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"},
    ],
)
def test_the_scores_are_those_of_sentence_transformers(tmp_path, model_cache, named):
    from sentence_transformers import CrossEncoder

    folder = make_bert(tmp_path / "cross", labels=1, **named)
    reranker = opened(folder, model_cache)
    assert isinstance(reranker, OnnxCrossEncoder)
    ours = reranker.score(QUESTION, PASSAGES)
    oracle = CrossEncoder(str(folder), device="cpu", local_files_only=True)
    theirs = oracle.predict([(QUESTION, passage) for passage in PASSAGES], show_progress_bar=False)
    assert ours.dtype == np.float32
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    assert np.ptp(ours) > 0.01
    np.testing.assert_array_equal(np.argsort(ours), np.argsort(theirs))


def test_a_cross_encoder_that_is_not_known_runs_in_torch(small_cross_encoder, model_cache):
    warnings = []
    given = {"cache_folder": model_cache, "on_warning": warnings.append}
    reranker = open_cross_encoder(small_cross_encoder, "tiny/cross", **given)
    assert isinstance(reranker, TorchCrossEncoder)
    assert "none of the models that `models pull` knows" in warnings[0]


def test_damaged_weights_are_told_with_the_way_out(small_cross_encoder, model_cache):
    (small_cross_encoder / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(ModelProblem, match="cannot be read") as caught:
        opened(small_cross_encoder, model_cache).score(QUESTION, PASSAGES)
    assert "models pull" in caught.value.fix


def snapshot(hub, name):
    repository = hub / ("models--" + name.replace("/", "--"))
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text("abc123")
    return make_bert(repository / "snapshots" / "abc123", labels=1)


def test_a_model_is_found_by_folder_and_in_the_hub_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    assert find_on_this_machine("owner/model") is None
    folder = snapshot(tmp_path / "hub", "owner/model")
    assert find_on_this_machine("owner/model") == folder
    assert find_on_this_machine(str(folder)) == folder
    (folder / "model.safetensors").unlink()
    assert find_on_this_machine("owner/model") is None
    with pytest.raises(ModelProblem, match="no model folder"):
        find_on_this_machine(str(tmp_path / "nowhere"))
