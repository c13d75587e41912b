"""The answer of an LLM: LangChain's ConversationalRetrievalChain over our search, streamed.

The one module of this room that imports LangChain, and only when a function of it is called.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from ragscience.answering import prompts
from ragscience.errors import ModelProblem
from ragscience.records import Found, Turn

if TYPE_CHECKING:
    from langchain_core.callbacks import BaseCallbackHandler, CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.language_models import BaseChatModel
    from langchain_core.output_parsers import BaseOutputParser
    from langchain_core.retrievers import BaseRetriever

__all__ = ["Generated", "Searcher", "as_documents", "as_retriever", "generate", "import_langchain"]

Searcher = Callable[[str], Found]


def import_langchain() -> None:
    """Load what an answer by an LLM needs, which takes a second or two: for a thread, while the search runs."""
    import langchain_ollama  # noqa: F401  # imported for its effect


_LONGEST_QUESTION = 600
"""Characters: a rewritten question beyond this is a model that talks instead; the question is taken as it was asked."""


@dataclass(frozen=True, slots=True)
class Generated:
    """What came of it: the text, and the search that it rests on."""

    text: str
    """All that the model said, also when it failed on the way."""
    found: Found | None
    """None where the model failed before the search."""
    answerable: bool
    """False where the search gave nothing that answers; the model was not asked then."""
    failure: ModelProblem | None
    first_token_ms: float | None
    """From the call; None where no token came."""


def generate(
    question: str,
    *,
    history: Sequence[Turn],
    search: Searcher,
    is_answerable: Callable[[Found, str], bool],
    chat_model: BaseChatModel,
    on_token: Callable[[str], None] | None,
) -> Generated:
    """Rewrite a follow-up so that it stands alone, search, and let the model answer from the passages.

    The rewriting happens only with history; its tokens are not shown. Nothing leaves for a tracing service, whatever
    the environment says. A failure of the model is returned, not raised; what `search` and `on_token` raise is raised.
    """
    import httpx
    import ollama
    from langsmith.run_helpers import tracing_context

    from ragscience.models.ollama import as_problem

    stream = _StreamState(on_token)
    searched: list[tuple[Found, bool]] = []

    def search_once(standalone: str) -> Found:
        found = search(standalone)
        searched.append((found, is_answerable(found, standalone)))
        return found if searched[-1][1] else Found(found.question, found.profile, ())

    chain = _chain(chat_model, as_retriever(search_once), prompts.sendable(question), stream)
    turns = [(prompts.sendable(turn.question), prompts.sendable(turn.answer)) for turn in history]
    text: str | None = None
    failure: ModelProblem | None = None
    try:
        with tracing_context(enabled=False):
            text = chain.invoke({"question": prompts.sendable(question), "chat_history": turns})["answer"]
    except (httpx.HTTPError, ollama.ResponseError, ValueError) as error:
        if error is not stream.model_error:
            raise
        name, url = getattr(chat_model, "model", "the model"), getattr(chat_model, "base_url", None)
        failure = as_problem(error, name, url or "its address")
    found, answerable = searched[-1] if searched else (None, True)
    return Generated("".join(stream.pieces) if text is None else text, found, answerable, failure, stream.first_ms)


def as_retriever(search: Searcher) -> BaseRetriever:
    """Our search as a LangChain retriever: a question in, `as_documents` out."""
    from langchain_core.retrievers import BaseRetriever

    class PaperRetriever(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            del run_manager
            return as_documents(search(query))

    return PaperRetriever()


def as_documents(found: Found) -> list[Document]:
    """A LangChain document for each hit: fenced text, and its number, source, file, path, pages and score."""
    from langchain_core.documents import Document

    return [
        Document(
            page_content=prompts.fenced_text(hit.chunk),
            metadata={
                "number": hit.rank,
                "source": prompts.page_label(hit.chunk.file, hit.chunk.page_start),
                "file": hit.chunk.file,
                "path": hit.chunk.path,
                "page_start": hit.chunk.page_start,
                "page_end": hit.chunk.page_end,
                "chunk_id": hit.chunk.chunk_id,
                "score": hit.score,
            },
        )
        for hit in found.hits
    ]


def _chain(chat_model: BaseChatModel, retriever: BaseRetriever, question: str, stream: _StreamState) -> Any:
    from langchain_classic.chains import ConversationalRetrievalChain
    from langchain_core.prompts import ChatPromptTemplate, PromptTemplate

    chain = ConversationalRetrievalChain.from_llm(
        llm=_listening(chat_model, stream.handler(shown=True)),
        condense_question_llm=_listening(chat_model, stream.handler(shown=False)),
        retriever=retriever,
        condense_question_prompt=PromptTemplate.from_template(prompts.CONDENSE),
        combine_docs_chain_kwargs={
            "prompt": ChatPromptTemplate.from_messages(
                [("system", prompts.ANSWER_RULES), ("human", prompts.ANSWER_REQUEST)]
            ),
            "document_prompt": PromptTemplate.from_template(prompts.PASSAGE),
        },
        return_source_documents=True,
        return_generated_question=True,
        response_if_no_docs_found=prompts.REFUSAL,
    )
    chain.question_generator.output_parser = _standalone_question(question)
    return chain


def _listening(chat_model: BaseChatModel, handler: BaseCallbackHandler) -> BaseChatModel:
    """The same model, with a handler for this use of it alone."""
    present = chat_model.callbacks if isinstance(chat_model.callbacks, list) else []
    return chat_model.model_copy(update={"callbacks": [*present, handler]})


def _standalone_question(asked: str) -> BaseOutputParser[str]:
    """Reads the rewritten question; where there is none worth the name, the question as it was asked."""
    from langchain_core.output_parsers import StrOutputParser

    class StandaloneQuestion(StrOutputParser):
        def parse(self, text: str) -> str:
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            said = lines[-1].rpartition("uestion:")[2].strip(" \"'“”*") if lines else ""
            return said if 0 < len(said) <= _LONGEST_QUESTION else asked

    return StandaloneQuestion()


class _StreamState:
    """What the handlers of one answer saw."""

    def __init__(self, on_token: Callable[[str], None] | None) -> None:
        self.pieces: list[str] = []
        self.first_ms: float | None = None
        self.model_error: BaseException | None = None
        self._on_token = on_token
        self._reader_failed = False
        self._started = time.perf_counter()

    def take(self, token: str) -> None:
        if not token:
            return
        if self.first_ms is None:
            self.first_ms = round((time.perf_counter() - self._started) * 1000, 3)
        self.pieces.append(token)
        if self._on_token is not None:
            self._reader_failed = True
            self._on_token(token)
            self._reader_failed = False

    def fail(self, error: BaseException) -> None:
        if not self._reader_failed:  # what on_token raised passes through the model, and is not its failure
            self.model_error = error

    def handler(self, *, shown: bool) -> BaseCallbackHandler:
        """Listens to one use of the model; the tokens are taken where they are `shown`."""
        from langchain_core.callbacks import BaseCallbackHandler

        state = self

        class Listener(BaseCallbackHandler):
            raise_error = True

            def on_llm_new_token(self, token: str, **_: Any) -> None:  # type: ignore[override]  # of a chat model: text
                if shown:
                    state.take(token)

            def on_llm_error(self, error: BaseException, *, run_id: UUID, **_: Any) -> None:
                del run_id
                state.fail(error)

        return Listener()
