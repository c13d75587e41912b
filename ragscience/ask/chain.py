"""The answer of an LLM: LangChain's ConversationalRetrievalChain over our search, within the window, streamed.

The only module of this package that imports LangChain, inside its functions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ragscience.ask import prompts as wording
from ragscience.ask.answer_context import AnswerContext, AnswerRequest
from ragscience.ask.generation import Generation
from ragscience.ask.prompts import Plan, Window, condense_history, plan
from ragscience.core.errors import ModelProblem
from ragscience.core.prompt_templates import sanitize
from ragscience.core.records import Found, Hit
from ragscience.models.model_protocols import ChatModel

if TYPE_CHECKING:
    from langchain_core.callbacks import CallbackManagerForRetrieverRun
    from langchain_core.documents import Document
    from langchain_core.prompt_values import PromptValue
    from langchain_core.retrievers import BaseRetriever


JudgedSearch = Callable[[str], tuple[Found, bool]]
"""A question to what a search finds, and whether to answer from it."""
_LONGEST_QUESTION = 600
"""Characters: a rewritten question beyond this is a model that talks instead."""


class Generated:
    """One question on its way through the chain, and what came of it."""

    def __init__(
        self,
        request: AnswerRequest,
        context: AnswerContext,
        llm: ChatModel,
        search: JudgedSearch,
        on_token: Callable[[str], None] | None,
    ) -> None:
        limits = (context.answer_seconds, context.cancelled, context.whole_seconds)
        self._condensing = Generation(llm, None, *limits)
        self.reply = Generation(llm, on_token, *limits)
        """The answer; its text is there also when the model failed on the way."""
        self.found: Found | None = None
        """The search that it rests on; None where the model failed before."""
        self.answerable = True
        """False where the search gave nothing that answers; the model was not asked then."""
        self.failure: ModelProblem | None = None
        """Why the answer is incomplete; None if it is complete."""
        self._question = sanitize(request.question)
        self._history = request.history
        self._search = search
        self._notes = context.notes
        self._window = Window(llm.window, llm.num_predict, llm.counter.count)
        self._plan = Plan(llm.num_predict)
        self._turns, self._condense_tokens = condense_history(self._question, self._history, self._window)

    def run(self) -> None:
        """Rewrite a follow-up to be standalone, search, and let the model answer from the passages.

        The rewriting happens only with history; its tokens are not shown. Nothing goes to a tracing service, whatever
        the environment says. The model's failure is kept. Raises Cancelled, and what `search` and `on_token` raise.
        """
        from langsmith.run_helpers import tracing_context

        try:
            with tracing_context(enabled=False):
                self._chain().invoke({"question": self._question, "chat_history": list(self._turns)})
        except ModelProblem as problem:
            if problem is not self.failure:  # it is the search's
                raise

    @property
    def given(self) -> tuple[Hit, ...]:
        """The passages that the model was given."""
        return tuple(hit for hit, _ in self._plan.passages)

    @property
    def asked(self) -> bool:
        """Whether the model was called at all, so that a failure is its own."""
        return self._condensing.asked or self.reply.asked

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was left out of the prompts, and where the answer was stopped."""
        left = len(self._history) - len(self._turns)
        without = (f"The question was rewritten without the {left} oldest turns, which did not fit.",) if left else ()
        return (*self._plan.warnings, *without, *(() if self.failure else self.reply.warnings))

    def _chain(self) -> Any:
        """LangChain's chain, with our models, our search and our share of the window in it."""
        from langchain_classic.chains import ConversationalRetrievalChain
        from langchain_core.messages import SystemMessage
        from langchain_core.prompts import ChatPromptTemplate, HumanMessagePromptTemplate, PromptTemplate

        behind = lambda: self._plan.concepts + wording.conversation(self._plan.history)  # noqa: E731
        known = {"history": behind, "notes": self._notes}
        request = PromptTemplate.from_template(wording.ANSWER_REQUEST, partial_variables=known)
        system = SystemMessage(wording.ANSWER_RULES)
        return ConversationalRetrievalChain.from_llm(
            llm=_model(lambda messages: self._said(self.reply, messages, self._plan.answer_tokens)),
            condense_question_llm=_model(self._standalone),
            retriever=_retriever(self._documents),
            condense_question_prompt=PromptTemplate.from_template(wording.CONDENSE),
            combine_docs_chain_kwargs={
                "prompt": ChatPromptTemplate.from_messages([system, HumanMessagePromptTemplate(prompt=request)]),
                "document_prompt": PromptTemplate.from_template(wording.PASSAGE),
            },
            get_chat_history=lambda turns: "".join(f"\n{wording.turn_text(turn)}" for turn in turns),
            response_if_no_docs_found=wording.REFUSAL,
        )

    def _said(self, generation: Generation, messages: list[tuple[str, str]], max_tokens: int) -> str:
        generation.run(messages, max_tokens)
        self.failure = generation.failure
        if self.failure is not None:
            raise self.failure
        return generation.text

    def _standalone(self, messages: list[tuple[str, str]]) -> str:
        """The rewritten question; the question as it was asked where the reply is unusable."""
        said = self._said(self._condensing, messages, self._condense_tokens).strip().rpartition("\n")[2]
        said = said.rpartition("uestion:")[2].strip(" \"'“”*")
        return sanitize(said) if 0 < len(said) <= _LONGEST_QUESTION else self._question

    def _documents(self, question: str) -> list[Document]:
        """The passages that are found for a question and sent: fenced text, its number and its source."""
        from langchain_core.documents import Document

        self.found, self.answerable = self._search(question)
        if not self.answerable:
            return []
        try:
            self._plan = plan(self.found, self._history, window=self._window, notes=self._notes)
        except ModelProblem as problem:
            self.failure = problem
            raise
        return [
            Document(text, metadata={"number": hit.rank, "source": wording.source_of(hit.chunk, hit.chunk.page_start)})
            for hit, text in self._plan.passages
        ]


def _model(say: Callable[[list[tuple[str, str]]], str]) -> Any:
    """A LangChain model that replies by `say`, which gets (role, text) for each message."""
    from langchain_core.runnables import RunnableLambda

    def reply(prompt: PromptValue, **_: Any) -> str:
        messages = prompt.to_messages()
        return say([("system" if each.type == "system" else "user", str(each.content)) for each in messages])

    return RunnableLambda(reply)


def _retriever(documents: Callable[[str], list[Document]]) -> BaseRetriever:
    """A LangChain retriever that finds the `documents` of a question."""
    from langchain_core.retrievers import BaseRetriever

    class PaperRetriever(BaseRetriever):
        def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
            del run_manager
            return documents(query)

    return PaperRetriever()
