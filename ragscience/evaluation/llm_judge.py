"""A language model judges answers, through ragas: faithfulness, answer relevance and context precision.

Es et al., "RAGAS: Automated evaluation of retrieval augmented generation" (2023, arXiv 2309.15217). The prompts and the
formulas are those of the package ragas, which is no requirement (requirements-judge.txt); the model and the embedder
are this project's own, and nothing else is spoken to: the package's usage tracking is off before it is imported.
"""

from __future__ import annotations

import asyncio
import math
import os
import sys
import warnings
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from ragscience.core.errors import ModelProblem, RagScienceError
from ragscience.core.records import Answer
from ragscience.evaluation.answer_metrics import JUDGED

__all__ = ["RagasJudge"]

_SWITCHES = {"RAGAS_DO_NOT_TRACK": "true", "HF_HUB_DISABLE_TELEMETRY": "1"}
_MOVED = "langchain_community.chat_models.vertexai"


class RagasJudge:
    """Called with a question and its answer, gives values from 0 to 1 by the names of metrics.JUDGED.

    A value is left out where the model's words could not be read; when the model itself fails, nothing is judged from
    then on. `warning` receives both. `max_tokens` is the longest judgement. Raises RagScienceError at once where ragas
    is not installed.
    """

    def __init__(self, llm: Any, embedder: Any, *, max_tokens: int, warning: Callable[[str], None]) -> None:
        """`llm` has `reply` and `embedder` `embed_documents`, as in models.model_protocols."""
        self._warning = warning
        ragas = _ragas()
        model, embeddings = _model(llm, max_tokens), _embeddings(embedder)
        metrics = ragas.metrics
        self._sample = ragas.SingleTurnSample
        self._unread = (ragas.exceptions.RagasException, ValueError)
        self._gone = False
        self._metrics = dict(
            zip(
                JUDGED,
                (
                    metrics.Faithfulness(llm=model),
                    metrics.ResponseRelevancy(llm=model, embeddings=embeddings),
                    metrics.LLMContextPrecisionWithoutReference(llm=model),
                ),
                strict=True,
            )
        )

    def __call__(self, question: str, answer: Answer) -> Mapping[str, float]:
        """The values of one answer; an answer without passages is judged by its relevance alone."""
        passages = [hit.chunk.text for hit in answer.found.hits]
        sample = self._sample(user_input=question, response=answer.text, retrieved_contexts=passages)
        values = {}
        for name, metric in self._metrics.items():
            if self._gone or (not passages and name != "answer relevance"):
                continue
            try:
                # The public method around this one writes an identity for the tracking to the user's home, always.
                value = float(asyncio.run(metric._single_turn_ascore(sample, callbacks=[])))
            except ModelProblem as problem:
                self._gone = True
                self._warning(f"Nothing is judged from here on. {problem}")
                continue
            except self._unread as error:
                self._warning(f"The judge gave no {name}: {' '.join(str(error).split())[:300]}")
                continue
            if math.isfinite(value):
                values[name] = min(1.0, max(0.0, value))
        return values


def _ragas() -> Any:
    """The package, with its tracking off. Raises RagScienceError where it is not installed."""
    os.environ.update(_SWITCHES)
    # ragas only names this class, to ask whether a model is one; LangChain has moved it to a package of Google's.
    if _MOVED not in sys.modules:
        moved = ModuleType(_MOVED)
        moved.ChatVertexAI = type("ChatVertexAI", (), {})  # type: ignore[attr-defined]
        sys.modules[_MOVED] = moved
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            import ragas
            import ragas.exceptions
            import ragas.metrics
    except ImportError as error:
        raise RagScienceError(
            f"--judge needs the package ragas, which cannot be imported: {error}.",
            "Run `python -m pip install -r requirements-judge.txt`.",
        ) from error
    return ragas


def _model(llm: Any, max_tokens: int) -> Any:
    """The project's model as ragas wants one; each call is one reply, and none is repeated by ragas itself."""
    from langchain_core.outputs import Generation, LLMResult
    from ragas.llms import BaseRagasLLM
    from ragas.run_config import RunConfig

    class Model(BaseRagasLLM):  # type: ignore[misc]  # ragas has no types here
        """Speaks through `llm`, whose own temperature and time limits hold."""

        def generate_text(self, prompt: Any, n: int = 1, *_: Any, **__: Any) -> LLMResult:
            """`n` replies to the prompt."""
            messages = [("user", prompt.to_string())]
            said = ["".join(llm.reply(messages, max_tokens=max_tokens)) for _ in range(n)]
            return LLMResult(generations=[[Generation(text=text) for text in said]])

        async def agenerate_text(self, prompt: Any, n: int = 1, *_: Any, **__: Any) -> LLMResult:
            """The same; a local model does one thing at a time, so nothing is gained by waiting for several."""
            return self.generate_text(prompt, n)

        def is_finished(self, response: LLMResult) -> bool:  # noqa: ARG002  # ragas names it
            """Always: a truncated reply is invalid JSON, which is detected."""
            return True

    return Model(run_config=RunConfig(max_retries=1))


def _embeddings(embedder: Any) -> Any:
    from ragas.embeddings import BaseRagasEmbeddings

    class Embeddings(BaseRagasEmbeddings):  # type: ignore[misc]  # ragas has no types here
        """Embeds with `embedder`; both sides are questions, so both are embedded alike."""

        def embed_query(self, text: str) -> list[float]:
            """One unit vector."""
            return self.embed_documents([text])[0]

        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            """A unit vector for each text."""
            rows: list[list[float]] = embedder.embed_documents(texts).tolist()
            return rows

        async def aembed_query(self, text: str) -> list[float]:
            """The same."""
            return self.embed_query(text)

        async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
            """The same."""
            return self.embed_documents(texts)

    return Embeddings()
