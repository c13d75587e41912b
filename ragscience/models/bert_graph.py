"""The files of a BERT encoder: tokenizer, config, and an ONNX graph that is made from them without torch.

The graph uses onnxruntime's fused transformer operators (domain com.microsoft: MultiHeadAttention,
EmbedLayerNormalization, BiasGelu; the last is the exact erf form, as in BERT), so there is nothing to optimise when
a session opens. Shapes and names of the weights are those of Hugging Face's `BertModel`.

Inputs, both int32 [batch, tokens]: `input_ids`, `token_type_ids`. There is no mask: all rows of a batch have the same
length, so that nothing is padded and attention runs in blocks that stay in the processor's cache (FlashAttention:
Dao and others 2022), which onnxruntime does only without a mask. Output: `token_embeddings`, float32 [batch, tokens,
hidden]; or, of a BertForSequenceClassification, `logits`, float32 [batch, labels]. A classifier reads nothing but the
first token, so its last layer is computed for that token alone, over the keys and values of all.

A graph for reading many passages at a question multiplies integers in its projections, with weights of
seven bits and a scale for each output (seven, as sums of two products of eight bits overflow on processors without
VNNI), which takes a third of the time. Their inputs are quantised by their range in the whole batch, so such a
session's batches are single rows.

Weights are stored next to the graph in `weights.bin`, each on a page boundary, so that a session memory-maps them.
"""

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

GRAPH_VERSION = 4
"""Incremented with every change of what `write_graph` writes."""
OPSET = 17
IR_VERSION = 9
PAGE_BYTES = 4096
FUSED = "com.microsoft"
INPUTS = ("input_ids", "token_type_ids")
FLOAT, INT8, INT32 = 1, 3, 6
"""Of TensorProto.DataType."""
_FLOAT_ATTRIBUTE, _INT_ATTRIBUTE, _INTS_ATTRIBUTE = 1, 2, 7
_EXTERNAL = 1
"""Of TensorProto.DataLocation: the numbers are in a file beside the graph."""

LARGEST = 63
"""Of a weight as an integer."""

Value = int | float | str | bytes
"""What a field can have; bytes are a message."""


class NotBert(Exception):
    """The folder's model is not a supported BERT; the message says what it is."""


@dataclass(frozen=True, slots=True)
class BertConfig:
    """The shape of a BERT encoder."""

    layers: int
    hidden: int
    heads: int
    epsilon: float
    max_tokens: int
    """Maximum number of positions, special tokens included."""
    labels: int
    """Outputs of the classifier; 0: an encoder without one."""


def read_config(folder: Path) -> BertConfig:
    """The shape of the model in `folder`. Raises NotBert with the reason."""
    try:
        raw = dict(json.loads((folder / "config.json").read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise NotBert(f"its config.json cannot be read: {error}") from None
    if raw.get("model_type") != "bert":
        raise NotBert(f"its type is {raw.get('model_type')!r}, not 'bert'")
    expected = {"hidden_act": "gelu", "position_embedding_type": "absolute", "is_decoder": False}
    for key, value in expected.items():
        if raw.get(key, value) != value:
            raise NotBert(f"its {key} is {raw[key]!r}, not {value!r}")
    if not (folder / "model.safetensors").is_file():
        raise NotBert("it has no model.safetensors")
    architecture = (raw.get("architectures") or ["BertModel"])[0]
    if architecture not in ("BertModel", "BertForSequenceClassification"):
        raise NotBert(f"its architecture is {architecture}")
    try:
        return BertConfig(
            layers=int(raw["num_hidden_layers"]),
            hidden=int(raw["hidden_size"]),
            heads=int(raw["num_attention_heads"]),
            epsilon=float(raw.get("layer_norm_eps", 1e-12)),
            max_tokens=int(raw["max_position_embeddings"]),
            labels=0 if architecture == "BertModel" else _labels(raw),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise NotBert(f"its config.json has no usable {error}") from None


def _labels(raw: Mapping[str, Any]) -> int:
    """Outputs of the classifier, as transformers counts them: two by default."""
    return int(raw["num_labels"]) if "num_labels" in raw else len(raw.get("id2label") or (0, 1))


def read_tensors(path: Path) -> dict[str, NDArray[np.float32]]:
    """The arrays of a safetensors file. Raises NotBert."""
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    try:
        return dict(load_file(path))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, SafetensorError) as error:
        raise NotBert(f"its {path.name} cannot be read ({error})") from None


def write_graph(
    folder: Path, target: Path, changes: Mapping[str, NDArray[np.float32]] | None = None, *, in_integers: bool = False
) -> BertConfig:
    """Write `target`/model.onnx and `target`/weights.bin from the model in `folder`. Raises NotBert, OSError.

    `changes` are those of an `Adapter` (bert_session.py).
    """
    config = read_config(folder)
    tensors, changes = read_tensors(folder / "model.safetensors"), changes or {}
    for name in (name.removesuffix(".a") for name in changes if name.endswith(".a")):
        narrow, wide = (changes[f"{name}.{side}"] for side in "ab")
        tensors[f"{name}.weight"] = tensors[f"{name}.weight"] + wide @ narrow
    builder = _Builder(config, tensors, small=in_integers)
    outputs = builder.build()
    stored = _write_weights(builder.weights, target / "weights.bin")
    inputs = [value_info(name, INT32, ["batch", "tokens"]) for name in INPUTS]
    opsets = {"": OPSET, FUSED: 1}
    graph = model(builder.nodes, stored, inputs, outputs, ir_version=IR_VERSION, opsets=opsets)
    (target / "model.onnx").write_bytes(graph)
    return config


def _write_weights(weights: Mapping[str, NDArray[Any]], path: Path) -> list[bytes]:
    """Write the arrays one after another; returns the ONNX tensors that refer to them."""
    tensors = []
    with path.open("wb") as out:
        for name, array in weights.items():
            out.write(b"\0" * (-out.tell() % PAGE_BYTES))
            place = {"location": path.name, "offset": out.tell(), "length": array.nbytes}
            kind = INT8 if array.dtype == np.int8 else FLOAT
            tensors.append(external_tensor(name, array.shape, place, kind))
            out.write(np.ascontiguousarray(array).data)
    return tensors


class _Builder:
    """Collects nodes and weights; a value is named after the weight that produces it."""

    def __init__(self, config: BertConfig, source: Mapping[str, NDArray[np.float32]], *, small: bool) -> None:
        """`small`: projections multiply integers."""
        self.config = config
        self.small = small
        self.prefix = "bert." if any(name.startswith("bert.") for name in source) else ""
        # Early checkpoints call a layer norm's weight and bias gamma and beta.
        self.source = {
            name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias"): array
            for name, array in source.items()
        }
        self.nodes: list[bytes] = []
        self.weights: dict[str, NDArray[Any]] = {}

    def build(self) -> list[bytes]:
        """Add all nodes; returns the graph's outputs."""
        hidden = self._embeddings()
        for layer in range(self.config.layers):
            first_only = self.config.labels > 0 and layer == self.config.layers - 1
            hidden = self._layer(f"encoder.layer.{layer}.", hidden, self._first_token(hidden) if first_only else hidden)
        if not self.config.labels:
            self._node("Identity", [hidden], ["token_embeddings"], domain="")
            return [value_info("token_embeddings", FLOAT, ["batch", "tokens", self.config.hidden])]
        self._classifier(hidden)
        return [value_info("logits", FLOAT, ["batch", self.config.labels])]

    def _embeddings(self) -> str:
        names = [
            self._weight(f"embeddings.{name}")
            for name in (
                "word_embeddings.weight",
                "position_embeddings.weight",
                "token_type_embeddings.weight",
                "LayerNorm.weight",
                "LayerNorm.bias",
            )
        ]
        # The operator requires its second output, which counts what a mask would leave.
        self._node("EmbedLayerNormalization", [*INPUTS, *names], ["embedded", "unused"], epsilon=self.config.epsilon)
        return "embedded"

    def _first_token(self, hidden: str) -> str:
        """[batch, tokens, hidden] becomes [batch, 1, hidden]."""
        for name, value in (("from", 0), ("to", 1), ("axis", 1)):
            self._node("Constant", [], [f"first.{name}"], domain="", value_ints=[value])
        self._node("Slice", [hidden, "first.from", "first.to", "first.axis"], ["first.hidden"], domain="")
        return "first.hidden"

    def _layer(self, prefix: str, hidden: str, asking: str) -> str:
        """A layer's output for the tokens of `asking`, which attend to those of `hidden`."""
        attention, parts = f"{prefix}attention.self.", ("query", "key", "value")
        projected = [
            self._matmul(f"{attention}{part}", value)
            for part, value in zip(parts, (asking, hidden, hidden), strict=True)
        ]
        bias = f"{attention}qkv.bias"
        self.weights[bias] = np.concatenate([self._raw(f"{attention}{part}.bias") for part in parts])
        attended = f"{prefix}attention"
        self._node("MultiHeadAttention", [*projected, bias], [attended], num_heads=self.config.heads)
        attended = self._project_and_add(f"{prefix}attention.output.", attended, asking)
        inner = f"{prefix}intermediate.dense"
        projected_up = self._matmul(inner, attended)
        self._node("BiasGelu", [projected_up, self._weight(f"{inner}.bias")], [f"{inner}.gelu"])
        return self._project_and_add(f"{prefix}output.", f"{inner}.gelu", attended)

    def _project_and_add(self, prefix: str, value: str, skip: str) -> str:
        """LayerNorm(dense(value) + skip)."""
        projected = self._matmul(f"{prefix}dense", value)
        # SkipLayerNormalization would do the rest in one node, but takes five times as long as these three.
        self._node("Add", [projected, self._weight(f"{prefix}dense.bias")], [f"{prefix}biased"], domain="")
        self._node("Add", [f"{prefix}biased", skip], [f"{prefix}sum"], domain="")
        inputs = [f"{prefix}sum", self._weight(f"{prefix}LayerNorm.weight"), self._weight(f"{prefix}LayerNorm.bias")]
        how = {"axis": -1, "epsilon": self.config.epsilon}
        self._node("LayerNormalization", inputs, [f"{prefix}out"], domain="", **how)
        return f"{prefix}out"

    def _classifier(self, hidden: str) -> None:
        """classifier(tanh(pooler(first token)))."""
        # A scalar index drops the token axis: [batch, tokens, hidden] becomes [batch, hidden].
        self._node("Constant", [], ["first"], domain="", value_int=0)
        self._node("Gather", [hidden, "first"], ["cls"], domain="", axis=1)
        self._gemm("pooler.dense", "cls", "pooler.projected")
        self._node("Tanh", ["pooler.projected"], ["pooled"], domain="")
        self._gemm("classifier", "pooled", "logits")

    def _gemm(self, name: str, value: str, output: str) -> None:
        self._weight(f"{name}.weight")
        self._weight(f"{name}.bias")
        self._node("Gemm", [value, f"{name}.weight", f"{name}.bias"], [output], domain="", transB=1)

    def _matmul(self, name: str, value: str) -> str:
        """The projection `name`, without its bias; checkpoints hold [out, in], MatMul wants [in, out]."""
        weight = self._raw(f"{name}.weight").T
        if not self.small:
            self.weights[f"{name}.weight"] = weight.astype(np.float32)
            self._node("MatMul", [value, f"{name}.weight"], [f"{name}.matmul"], domain="")
            return f"{name}.matmul"
        scale = (np.abs(weight).max(axis=0) / LARGEST).astype(np.float32)
        scale[scale == 0] = 1.0
        self.weights[f"{name}.weight"] = np.rint(weight / scale).astype(np.int8)
        self.weights[f"{name}.scale"] = scale
        self._node("DynamicQuantizeMatMul", [value, f"{name}.weight", f"{name}.scale"], [f"{name}.matmul"])
        return f"{name}.matmul"

    def _weight(self, name: str) -> str:
        self.weights[name] = self._raw(name).astype(np.float32)
        return name

    def _raw(self, name: str) -> NDArray[np.float32]:
        full = name if name.startswith("classifier.") else f"{self.prefix}{name}"
        try:
            return self.source[full]
        except KeyError:
            raise NotBert(f"its weights have no {full}") from None

    def _node(self, operator: str, inputs: list[str], outputs: list[str], *, domain: str = FUSED, **how: Any) -> None:
        self.nodes.append(node(operator, inputs, outputs, domain, how))


# The messages of a graph, as bytes. Field numbers are those of onnx.proto (ONNX, IR version 9), the encoding is that
# of Protocol Buffers: a key, which is the field's number and the kind of its value, then the value; a repeated field
# is written once for each value.


def message(*fields: tuple[int, Value]) -> bytes:
    """A message of fields (number, value), in this order."""
    return b"".join(_field(number, value) for number, value in fields)


def _field(number: int, value: Value) -> bytes:
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value % (1 << 64))
    if isinstance(value, float):
        return _varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    """Seven bits a byte, the lowest first; all bytes but the last have the eighth bit set."""
    groups = [value >> shift & 0x7F for shift in range(0, max(value.bit_length(), 1), 7)]
    return bytes([group | 0x80 for group in groups[:-1]] + groups[-1:])


def node(
    operator: str, inputs: Sequence[str], outputs: Sequence[str], domain: str, how: dict[str, float | list[int]]
) -> bytes:
    """NodeProto: an operator with its attributes, named after its first output."""
    ends = [*((1, name) for name in inputs), *((2, name) for name in outputs), (3, outputs[0]), (4, operator)]
    return message(*ends, *((5, _attribute(name, how[name])) for name in sorted(how)), (7, domain))


def _attribute(name: str, value: float | list[int]) -> bytes:
    if isinstance(value, list):
        return message((1, name), *((8, each) for each in value), (20, _INTS_ATTRIBUTE))
    is_int = isinstance(value, int)
    return message((1, name), (3 if is_int else 2, value), (20, _INT_ATTRIBUTE if is_int else _FLOAT_ATTRIBUTE))


def external_tensor(name: str, shape: Iterable[int], place: dict[str, object], kind: int) -> bytes:
    """TensorProto: numbers of another file; `place` has its `location`, `offset` and `length` in bytes."""
    where = ((13, message((1, key), (2, str(value)))) for key, value in place.items())
    return message(*((1, size) for size in shape), (2, kind), (8, name), *where, (14, _EXTERNAL))


def value_info(name: str, kind: int, shape: Iterable[str | int]) -> bytes:
    """ValueInfoProto: an input or output; a size is a number, or a name where it varies."""
    sizes = ((1, message((2 if isinstance(size, str) else 1, size))) for size in shape)
    tensor = message((1, kind), (2, message(*sizes)))
    return message((1, name), (2, message((1, tensor))))


def model(
    nodes: Iterable[bytes], tensors: Iterable[bytes], inputs: Iterable[bytes], outputs: Iterable[bytes],
    *, ir_version: int, opsets: dict[str, int],
) -> bytes:  # fmt: skip
    """ModelProto with one graph; `opsets` has the version of the operators of each domain."""
    parts = ((1, nodes), (5, tensors), (11, inputs), (12, outputs))
    graph = message((2, "bert"), *((number, each) for number, part in parts for each in part))
    versions = ((8, message((1, domain), (2, version))) for domain, version in opsets.items())
    return message((1, ir_version), (2, "ragscience"), (7, graph), *versions)
