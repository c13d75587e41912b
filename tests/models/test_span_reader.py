"""The reader finds the words that answer, tells where they are not, and its adapter is added to the model's weights."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from safetensors.numpy import load_file, save_file

from ragscience.core.errors import ModelProblem
from ragscience.models.bert_session import Adapter, BertSession
from ragscience.models.minilm import LONGEST_SPAN, QUESTIONS, READER, MiniLM, SpanReader, best_span
from ragscience.models.question_parts import PARTS, QuestionParts

PASSAGES = [
    "Bees visit flowers of many kinds. A colony keeps about 40,000 workers in summer.",
    "The hive stands in the shade of an oak, away from the road.",
    "Dr. Ada Brook kept the records from 1961 on, in a green notebook.",
]


def cosine(one, other):
    return float(np.sum(one * other) / np.linalg.norm(one) / np.linalg.norm(other))


@pytest.fixture(scope="module")
def reader(model_cache):
    return SpanReader(cache_folder=model_cache, on_warning=pytest.fail)


@pytest.mark.parametrize(
    ("question", "number", "answer"),
    [
        ("How many workers does a colony have in summer?", 0, "40,000"),
        ("Who kept the records?", 2, "Ada Brook"),
        ("What colour was the notebook?", 2, "green"),
    ],
)
def test_the_passage_that_answers_scores_highest_and_the_span_has_the_answer(reader, question, number, answer):
    spans = reader.read(question, PASSAGES)
    assert max(range(len(spans)), key=lambda i: spans[i].score) == number
    assert answer in PASSAGES[number][spans[number].start : spans[number].end]
    assert spans[number].probability > 0.5


@pytest.mark.parametrize(
    "pointer", ["as shown in Table 2", "[67] and [32, 41]", "(Bell et al., 2018)", "in Section 4.1", "^3"]
)
def test_a_number_that_points_elsewhere_is_no_answer_to_how_many(reader, pointer):
    texts = [f"The oven was heated for days {pointer}.", "The oven was heated for 9 days at length."]
    pointing, saying = reader.read("How many days was the oven heated?", texts)
    assert saying.score > pointing.score
    assert texts[1][saying.start : saying.end] in ("9", "9 days")


def test_a_passage_is_read_alike_in_whatever_company(reader):
    question = "How many workers does a colony have in summer?"
    together = reader.read(question, [*PASSAGES, ""])
    for passage, span in zip(PASSAGES, together, strict=False):
        (alone,) = reader.read(question, [passage])
        assert (alone.start, alone.end) == (span.start, span.end)
        assert alone.score == pytest.approx(span.score, abs=1e-3)
    assert together[-1].probability == 0.0
    assert reader.read(question, []) == []


def test_a_long_passage_is_read_as_far_as_the_model_was_trained(reader):
    (span,) = reader.read("What?", ["word " * 4000])
    assert 0 <= span.start < span.end <= 5 * 4000


@given(arrays(np.float32, st.tuples(st.integers(1, 60), st.just(2)), elements=st.floats(-9, 9, width=32)))
def test_the_best_span_is_that_of_trying_all(logits):
    none = np.array([0.5, -0.25], dtype=np.float32)
    offsets = [(3 * i, 3 * i + 2) for i in range(len(logits))]
    pairs = [(i, j) for i in range(len(logits)) for j in range(i, min(len(logits), i + LONGEST_SPAN))]
    best = max(float(logits[i, 0] + logits[j, 1]) for i, j in pairs)
    span = best_span(none, logits, offsets)
    assert span.score == pytest.approx(best - 0.25, abs=1e-5)
    i, j = span.start // 3, span.end // 3
    assert (i, j) in pairs
    assert float(logits[i, 0] + logits[j, 1]) == pytest.approx(best, abs=1e-5)


def test_an_adapter_changes_the_projection_that_it_names_in_integers_too(tmp_path, small_bert):
    name, random = "encoder.layer.1.attention.self.key", np.random.default_rng(1)
    whole = load_file(small_bert / "model.safetensors")
    outputs, inputs = whole[f"{name}.weight"].shape
    narrow, wide = random.standard_normal((2, inputs)), random.standard_normal((outputs, 2))
    file = tmp_path / "adapter.safetensors"
    save_file({f"{name}.a": narrow.astype(np.float16), f"{name}.b": wide.astype(np.float16)}, file)
    adapter = Adapter(file, hashlib.sha256(file.read_bytes()).hexdigest())
    change = wide.astype(np.float16).astype(np.float32) @ narrow.astype(np.float16).astype(np.float32)
    merged = tmp_path / "merged"
    merged.mkdir()
    save_file({**whole, f"{name}.weight": whole[f"{name}.weight"] + change}, merged / "model.safetensors")
    (merged / "config.json").write_bytes((small_bert / "config.json").read_bytes())
    how = {"cache_folder": tmp_path / "cache", "expected_sha256": None, "on_warning": pytest.fail}
    row = [101, *range(2000, 2040), 102]
    ((_, (in_floats,)),) = BertSession(small_bert, adapter=adapter, **how).run([row])
    ((_, (with_adapter,)),) = BertSession(small_bert, adapter=replace(adapter, in_integers=True), **how).run([row])
    ((_, (theirs,)),), ((_, (without,)),) = (BertSession(folder, **how).run([row]) for folder in (merged, small_bert))
    assert 1 - cosine(in_floats, theirs) < 1e-5
    other = replace(adapter, path=file.rename(tmp_path / "other.safetensors"))
    first, second = (BertSession(small_bert, adapter=each, **how).prepared.folder for each in (adapter, other))
    assert first != second and first.is_dir()  # a second adapter leaves what was made of the first
    # The integers alone cost a thousandth; the adapter changes much more.
    assert 1 - cosine(with_adapter, theirs) < 0.005 < 0.02 < 1 - cosine(with_adapter, without)


@pytest.mark.parametrize(
    "damage", [lambda data: b"", lambda data: data[:-9], lambda data: data[:5000] + b"\x7f" + data[5001:]]
)
def test_a_damaged_or_missing_adapter_is_no_answer(tmp_path, model_cache, damage):
    how = {"cache_folder": model_cache, "on_warning": pytest.fail}
    for adapter, ask in (
        (READER, lambda broken: SpanReader(broken, **how).read("Who?", PASSAGES)),
        (QUESTIONS, lambda broken: MiniLM(adapter=broken, **how).questions(["Who?"])),
        (PARTS, lambda broken: QuestionParts(broken, **how)("Who?")),
    ):
        file = tmp_path / adapter.path.name
        if content := damage(adapter.path.read_bytes()):
            file.write_bytes(content)
        with pytest.raises(ModelProblem, match="missing or damaged"):
            ask(replace(adapter, path=file))
