"""BERT in onnxruntime gives what transformers and sentence-transformers give in torch."""

import shutil

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.models.bert_graph import NotBert, read_config, write_graph
from ragscience.models.bert_session import BATCH_TOKENS, BertSession, batches_by_length
from tests.models.conftest import make_bert


def torch_hidden_states(folder, rows, type_ids):
    import torch
    from transformers import BertModel

    model = BertModel.from_pretrained(str(folder), attn_implementation="eager", add_pooling_layer=False).eval()
    states = []
    with torch.no_grad():
        for row, types in zip(rows, type_ids, strict=True):
            output = model(input_ids=torch.tensor([row]), token_type_ids=torch.tensor([types]))
            states.append(output.last_hidden_state[0].numpy())
    return states


@pytest.mark.torch
def test_the_hidden_states_of_rows_of_any_length_equal_torch_row_by_row(small_bert, model_cache):
    random = np.random.default_rng(0)
    rows = [random.integers(1000, 30000, size=size).tolist() for size in (3, 40, 1, 512, 17, 200)]
    types = [[0] * (len(row) // 2) + [1] * (len(row) - len(row) // 2) for row in rows]
    session = BertSession(small_bert, cache_folder=model_cache, expected_sha256=None, on_warning=pytest.fail)
    expected = torch_hidden_states(small_bert, rows, types)
    seen = []
    for numbers, output in session.run(rows, types):
        for number, states in zip(numbers, output, strict=True):
            seen.append(number)
            np.testing.assert_allclose(states[: len(rows[number])], expected[number], atol=2e-5)
    assert sorted(seen) == list(range(len(rows)))


def test_a_row_gives_the_same_alone_and_among_others_and_in_a_light_session(small_bert, model_cache):
    session = BertSession(small_bert, cache_folder=model_cache, expected_sha256=None, on_warning=pytest.fail)
    row = list(range(2000, 2030))
    ((_, alone),) = session.run([row])
    both = {
        number: output
        for numbers, outputs in session.run([row] * 20 + [row[:9]])
        for number, output in zip(numbers, outputs, strict=True)
    }
    for number in range(20):
        np.testing.assert_allclose(both[number], alone[0], atol=1e-5)
    ((_, light),) = session.run([row], light=True)
    np.testing.assert_allclose(light, alone, atol=1e-5)


def test_what_was_prepared_and_is_gone_when_the_session_opens_is_made_again(small_bert, tmp_path):
    session = BertSession(small_bert, cache_folder=tmp_path, on_warning=pytest.fail)
    shutil.rmtree(session.prepared.folder)
    assert len(list(session.run([[2000, 2001]]))) == 1


def test_checkpoints_with_gamma_and_beta_and_with_a_prefix_are_read(tmp_path, small_bert):
    from safetensors.numpy import load_file, save_file

    weights = load_file(str(small_bert / "model.safetensors"))
    old = make_bert(tmp_path / "old", labels=0)
    renamed = {
        "bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): array
        for name, array in weights.items()
    }
    save_file(renamed, str(old / "model.safetensors"))
    for name, folder in (("a", small_bert), ("b", old)):
        (tmp_path / name).mkdir()
        write_graph(folder, tmp_path / name)
    assert (tmp_path / "a" / "weights.bin").read_bytes() == (tmp_path / "b" / "weights.bin").read_bytes()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "roberta"}, "roberta"),
        ({"hidden_act": "relu"}, "relu"),
        ({"position_embedding_type": "relative_key"}, "relative_key"),
        ({"is_decoder": True}, "is_decoder"),
        ({"architectures": ["BertForMaskedLM"]}, "BertForMaskedLM"),
        ({"hidden_size": None}, "config.json"),
    ],
)
def test_what_is_no_such_bert_is_said(tmp_path, change, said):
    folder = make_bert(tmp_path / "other", labels=0, **change)
    with pytest.raises(NotBert, match=said):
        read_config(folder)


@given(st.lists(st.integers(2, 512), max_size=80))
def test_batches_hold_every_row_once_longest_first_without_padding_within_the_bound(lengths):
    batches = batches_by_length(lengths)
    order = [number for batch in batches for number in batch]
    assert sorted(order) == list(range(len(lengths)))
    assert [lengths[number] for number in order] == sorted(lengths, reverse=True)
    for batch in batches:
        assert len({lengths[number] for number in batch}) == 1
        assert len(batch) * lengths[batch[0]] <= BATCH_TOKENS
    assert len(batches) <= sum(1 + lengths.count(size) // (BATCH_TOKENS // size) for size in set(lengths))


def test_the_package_onnx_reads_a_converted_model(small_bert, tmp_path):
    config = write_graph(small_bert, tmp_path)
    read = onnx.load(tmp_path / "model.onnx")  # with its weights
    assert [(each.domain, each.version) for each in read.opset_import] == [("", 17), ("com.microsoft", 1)]
    assert [each.op_type for each in read.graph.node].count("MultiHeadAttention") == config.layers
    sizes = {each.name: (list(each.dims), len(each.raw_data)) for each in read.graph.initializer}
    assert sizes["embeddings.LayerNorm.weight"] == ([config.hidden], 4 * config.hidden)
