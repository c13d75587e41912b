"""Local models beside the built-in one: BERTs on onnxruntime, and what sentence-transformers can load.

Nothing is downloaded, and torch is imported with the first text that needs it. Of a text longer than a model's window
the beginning counts.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import ModelProblem, missing_package
from ragscience.core.records import EmbedderIdentity
from ragscience.core.serialization import storable
from ragscience.models.bert_graph import NotBert, read_config
from ragscience.models.bert_session import BertSession
from ragscience.models.model_download import KnownModel, known_model
from ragscience.models.model_protocols import Embedder, Reranker, TaskEmbedder
from ragscience.models.token_counting import unit_rows

WEIGHT_NAMES = ("*.safetensors", "*.bin")


def folder_digest(folder: Path) -> str:
    """The sha256 of a model folder's weights, in hexadecimal: of each file's name and bytes, sorted by name."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in WEIGHT_NAMES for path in folder.rglob(pattern)}):
        digest.update(path.relative_to(folder).as_posix().encode())
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


def open_embedder(folder: Path, name: str, *, cache_folder: Path, on_warning: Callable[[str], None]) -> Embedder:
    """The embedder in `folder`: a known BERT through onnxruntime, any other through sentence-transformers.

    Raises ModelProblem when a BERT's folder has no tokenizer.
    """
    row = known_model(name)
    try:
        config = read_config(folder)
    except NotBert:
        return SentenceTransformerEmbedder(folder, name, row)
    if row is None or config.labels:
        return SentenceTransformerEmbedder(folder, name, row)
    session = BertSession(folder, cache_folder=cache_folder, on_warning=on_warning)
    session.tokenizer.enable_truncation(min(row.tokens, config.max_tokens))
    return OnnxEmbedder(name, row, config.hidden, session)


class OnnxEmbedder(TaskEmbedder):
    """An Embedder over a known BERT, with the pooling, prefixes and length of its row."""

    def __init__(self, name: str, row: KnownModel, dimension: int, session: BertSession) -> None:
        self._name, self._row, self._dimension, self._session = name, row, dimension, session

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """Its digest covers the weights and how they are used (`KnownModel.digest`). Raises ModelProblem."""
        digest = self._row.digest(self._session.prepared.sha256)
        return EmbedderIdentity("sentence-transformers", self._name, digest, self._dimension)

    def _embed(self, texts: Sequence[str], task: str) -> NDArray[np.float32]:
        rows = np.empty((len(texts), self._dimension), dtype=np.float32)
        before = self._row.question if task == "query" else self._row.passage
        ids = [self._session.tokenizer.encode(storable(before + text)).ids for text in texts]
        for numbers, states in self._session.run(ids):
            rows[numbers] = states[:, 0] if self._row.pooling == "cls" else states.mean(axis=1)
        return unit_rows(rows, self._name)


class SentenceTransformerEmbedder(TaskEmbedder):
    """An Embedder over a sentence-transformers folder; what `row` says of it counts, not its files."""

    def __init__(self, folder: Path, name: str, row: KnownModel | None = None) -> None:
        self._folder = folder
        self._name = name
        self._row = row

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """Loads the model to get its dimension. Raises ModelProblem."""
        dimension = int(self._model.get_embedding_dimension() or 0)
        digest = folder_digest(self._folder)
        digest = self._row.digest(digest) if self._row else digest
        return EmbedderIdentity("sentence-transformers", self._name, digest, dimension)

    def _embed(self, texts: Sequence[str], task: str) -> NDArray[np.float32]:
        if not texts:
            return np.empty((0, self.identity.dimension), dtype=np.float32)
        encode = self._model.encode_query if task == "query" else self._model.encode_document
        rows = encode([storable(text) for text in texts], convert_to_numpy=True, show_progress_bar=False)
        return unit_rows(np.asarray(rows, dtype=np.float32), self._name)

    @cached_property
    def _model(self) -> Any:
        return _loaded(self._name, self._make)

    def _make(self, library: Any) -> Any:
        if self._row is None:
            return library.SentenceTransformer(str(self._folder), device="cpu", local_files_only=True)
        from sentence_transformers.sentence_transformer.modules import Pooling, Transformer

        how = {"local_files_only": True, "dtype": "float32"}
        encoder = Transformer(str(self._folder), max_seq_length=self._row.tokens, model_kwargs=how)
        pooling = Pooling(encoder.get_embedding_dimension(), self._row.pooling)
        prompts = {"query": self._row.question, "document": self._row.passage}
        return library.SentenceTransformer(modules=[encoder, pooling], prompts=prompts, device="cpu")


class TorchCrossEncoder:
    """A Reranker through sentence_transformers.CrossEncoder: the fallback for models other than BERT."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder
        self.name = name
        """Its name in the answer's JSON."""

    @cached_property
    def digest(self) -> str:
        """The sha256 of the weights, as `folder_digest` gives it."""
        return folder_digest(self._folder)

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """One score per passage, higher is better, shape (len(passages),), float32. Raises ModelProblem."""
        if not passages:
            return np.empty(0, dtype=np.float32)
        pairs = [(storable(question), storable(passage)) for passage in passages]
        scores = np.asarray(self._model.predict(pairs, show_progress_bar=False), dtype=np.float32)
        if scores.shape != (len(passages),):
            fix = "Name a cross-encoder in RAG_RERANKER."
            raise ModelProblem(f"{self.name} gives {scores.shape[-1]} scores a passage instead of one.", fix)
        return scores

    @cached_property
    def _model(self) -> Any:
        row = known_model(self.name)
        how = {"device": "cpu", "local_files_only": True, "max_length": row.tokens if row else None}
        return _loaded(self.name, lambda library: library.CrossEncoder(str(self._folder), **how))


def _loaded(name: str, make: Callable[[Any], Any]) -> Any:
    """The model that `make` makes with the package sentence-transformers. Raises ModelProblem."""
    try:
        import sentence_transformers
    except ModuleNotFoundError as error:
        raise missing_package(name, "sentence-transformers", "torch", ModelProblem) from error
    try:
        return make(sentence_transformers)
    except (OSError, ValueError, RuntimeError, KeyError, ImportError) as error:
        message = " ".join(str(error).split())[:200]
        fix = "Name a folder with all of the model's files."
        raise ModelProblem(f"sentence-transformers cannot load {name}: {message}.", fix) from error


PAIR_TOKENS = 512


def open_cross_encoder(folder: Path, name: str, *, cache_folder: Path, on_warning: Callable[[str], None]) -> Reranker:
    """The reranker in `folder`: through onnxruntime for a known BERT with one output, else sentence-transformers.

    Raises ModelProblem when the folder has no tokenizer, or the model gives more than one score.
    """
    row = known_model(name)
    try:
        config = read_config(folder)
        if row is None:
            raise NotBert("it is none of the models that `models pull` knows")
    except NotBert as reason:
        on_warning(f"{name} runs in torch, which is slow to load: {reason}.")
        if row and row.architecture != "bert" and not (folder / "modules.json").is_file():
            problem = f"{folder} has no modules.json, so {name} has no scoring head."
            raise ModelProblem(problem, f"Delete it, and fetch all: `python query.py models pull {name}`.") from None
        return TorchCrossEncoder(folder, name)
    if config.labels != 1:
        outputs = f"{config.labels} outputs" if config.labels else "no scoring head"
        raise ModelProblem(f"{name} has {outputs} instead of one score.", "Name a cross-encoder in RAG_RERANKER.")
    return OnnxCrossEncoder(folder, name, cache_folder=cache_folder, on_warning=on_warning)


class OnnxCrossEncoder:
    """A Reranker: a BertForSequenceClassification with one output. Its session is opened on first use."""

    def __init__(self, folder: Path, name: str, *, cache_folder: Path, on_warning: Callable[[str], None]) -> None:
        self.name = name
        """Its name in the answer's JSON."""
        self._session = BertSession(folder, cache_folder=cache_folder, on_warning=on_warning)
        limit = min(PAIR_TOKENS, read_config(folder).max_tokens)
        self._session.tokenizer.enable_truncation(limit, strategy="longest_first")

    @property
    def digest(self) -> str:
        """The sha256 of the weights, in hexadecimal; empty until they are needed."""
        return self._session.prepared.sha256 if self._session.opened else ""

    def score(self, question: str, passages: Sequence[str]) -> NDArray[np.float32]:
        """One score per passage, higher is better, shape (len(passages),), float32. Raises ModelProblem.

        The same numbers as `sentence_transformers.CrossEncoder.predict`. Pairs are cut to 512 tokens, the longer text
        first.
        """
        scores = np.empty(len(passages), dtype=np.float32)
        pairs = [self._session.tokenizer.encode(storable(question), storable(passage)) for passage in passages]
        for numbers, logits in self._session.run([pair.ids for pair in pairs], [pair.type_ids for pair in pairs]):
            scores[numbers] = logits[:, 0]
        return scores
