"""The messages of a graph are those that the package onnx writes and reads."""

import onnx
import pytest
from onnx import TensorProto, helper

from ragscience.models.bert_graph import FLOAT, external_tensor, message, node, value_info, write_graph


@pytest.mark.parametrize(
    "how", [{}, {"axis": -1, "epsilon": 1e-12}, {"value_ints": [0, 300, -2]}, {"num_heads": 1 << 40}, {"value_int": 0}]
)
def test_a_node_is_what_onnx_writes(how):
    made = node("Gemm", ["a", "b"], ["ü"], "com.microsoft", how)
    assert made == helper.make_node(
        "Gemm", ["a", "b"], ["ü"], name="ü", domain="com.microsoft", **how
    ).SerializeToString(deterministic=True)


def test_an_input_is_what_onnx_writes():
    expected = helper.make_tensor_value_info("in", TensorProto.FLOAT, ["batch", 384]).SerializeToString()
    assert value_info("in", FLOAT, ["batch", 384]) == expected


def test_weights_of_another_file_are_read_as_such():
    read = TensorProto.FromString(external_tensor("w", (3, 70000), {"location": "weights.bin", "offset": 4096}, FLOAT))
    assert (list(read.dims), read.name, read.data_type) == ([3, 70000], "w", TensorProto.FLOAT)
    assert read.data_location == TensorProto.EXTERNAL
    assert {each.key: each.value for each in read.external_data} == {"location": "weights.bin", "offset": "4096"}


def test_a_long_text_has_its_length_in_several_bytes():
    assert TensorProto.FromString(message((8, "x" * 20000))).name == "x" * 20000


def test_onnx_reads_a_converted_model(small_bert, tmp_path):
    config = write_graph(small_bert, tmp_path)
    read = onnx.load(tmp_path / "model.onnx")  # with its weights
    assert [(each.domain, each.version) for each in read.opset_import] == [("", 17), ("com.microsoft", 1)]
    assert [each.op_type for each in read.graph.node].count("MultiHeadAttention") == config.layers
    sizes = {each.name: (list(each.dims), len(each.raw_data)) for each in read.graph.initializer}
    assert all(4 * onnx.numpy_helper.to_array(each).size == len(each.raw_data) for each in read.graph.initializer)
    assert sizes["embeddings.LayerNorm.weight"] == ([config.hidden], 4 * config.hidden)
