"""A cross-encoder: reads question and passage together, and scores how well the passage answers the question.

Nogueira and Cho 2019. A BERT with a single output runs in onnxruntime; sentence-transformers (and torch) loads
any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ragscience.core.errors import ModelProblem
from ragscience.models.bert_graph import NotBert, load_tokenizer, read_config, read_json
from ragscience.models.bert_session import BertSession
from ragscience.models.windows import sendable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ragscience.models.model_protocols import Reranker, Scale

__all__ = ["PAIR_TOKENS", "OnnxCrossEncoder", "open_cross_encoder"]

PAIR_TOKENS = 512


def open_cross_encoder(folder: Path, name: str, *, cache_folder: Path, on_warning: Callable[[str], None]) -> Reranker:
    """The reranker in `folder`: through onnxruntime for a BERT with one output, else sentence-transformers.

    Raises ModelProblem when the folder has no tokenizer, or the model gives more than one score.
    """
    try:
        config = read_config(folder)
        scale = _scale(folder)
    except NotBert as reason:
        from ragscience.models.sentence_transformers import TorchCrossEncoder

        on_warning(f"{name} runs in torch, which is slow to load: {reason}.")
        return TorchCrossEncoder(folder, name)
    if config.labels != 1:
        outputs = f"{config.labels} outputs" if config.labels else "no scoring head"
        raise ModelProblem(f"{name} has {outputs} instead of one score.", "Name a cross-encoder in RAG_RERANKER.")
    return OnnxCrossEncoder(folder, name, scale=scale, cache_folder=cache_folder, on_warning=on_warning)


class OnnxCrossEncoder:
    """A Reranker: a BertForSequenceClassification with one output. Its session is opened on first use."""

    def __init__(
        self, folder: Path, name: str, *, scale: Scale, cache_folder: Path, on_warning: Callable[[str], None]
    ) -> None:
        self._folder = folder
        self.name = name
        """Its name in the answer's JSON."""
        self.scale: Scale = scale
        """Log-odds, or probabilities where the model's files name a sigmoid, or nothing."""
        self._tokenizer = load_tokenizer(folder)
        limit = min(PAIR_TOKENS, read_config(folder).max_tokens)
        self._tokenizer.enable_truncation(limit, strategy="longest_first")
        self._session = BertSession(folder, cache_folder=cache_folder, expected_sha256=None, on_warning=on_warning)

    @property
    def digest(self) -> str:
        """The sha256 of the weights, in hexadecimal; empty until they are needed."""
        return self._session.prepared.sha256 if self._session.opened else ""

    @property
    def sessions_opened(self) -> int:
        """How many times the model has been loaded for this object."""
        return self._session.opened

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """One score per passage, higher is better, shape (len(passages),), float32. Raises ModelProblem.

        The same numbers as `sentence_transformers.CrossEncoder.predict`: the model's output, through a sigmoid where
        `scale` is "probability". Pairs are cut to 512 tokens, the longer text first.
        """
        scores = np.empty(len(passages), dtype=np.float32)
        pairs = [self._tokenizer.encode(sendable(question), sendable(passage)) for passage in passages]
        try:
            batches = self._session.run([pair.ids for pair in pairs], [pair.type_ids for pair in pairs])
            for numbers, logits in batches:
                scores[numbers] = logits[:, 0]
        except NotBert as error:
            raise ModelProblem(
                f"The reranker in {self._folder} cannot be read: {error}.",
                "Fetch it again with `python query.py models pull`.",
            ) from error
        return _sigmoid(scores) if self.scale == "probability" else scores


def _scale(folder: Path) -> Scale:
    """The scale of the scores, by the rules of sentence_transformers.CrossEncoder.

    The activation is that of config_sentence_transformers.json where the folder has a modules.json and is a
    CrossEncoder's, else `sentence_transformers.activation_fn` or `sbert_ce_default_activation_function` of config.json,
    else a sigmoid; a name outside of torch counts as none. Raises NotBert where more than BERT and its activation
    makes the score: further layers, a prompt, another activation.
    """
    named = None
    if (folder / "modules.json").is_file():
        saved = read_json(folder / "config_sentence_transformers.json")
        if saved.get("model_type") == "CrossEncoder":
            layers = re.findall(r'"type": *"[^"]*?(\w+)"', (folder / "modules.json").read_text(encoding="utf-8"))
            if saved.get("default_prompt_name") or layers != ["Transformer"]:
                raise NotBert("it has a prompt, or more layers")
            named = saved.get("activation_fn")
    if not _is_torchs(named):
        config = read_json(folder / "config.json")
        nested = config.get("sentence_transformers")
        named = config.get("sbert_ce_default_activation_function")
        if isinstance(nested, dict):
            named = nested.get("activation_fn", named)
    activation = str(named).rpartition(".")[2] if _is_torchs(named) else "Sigmoid"
    if activation not in ("Identity", "Sigmoid"):
        raise NotBert(f"its activation is {activation}")
    return "log-odds" if activation == "Identity" else "probability"


def _is_torchs(name: object) -> bool:
    return isinstance(name, str) and name.startswith("torch.")


def _sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    # tanh does not overflow.
    scores: NDArray[np.float32] = (0.5 * (1.0 + np.tanh(0.5 * logits))).astype(np.float32)
    return scores
