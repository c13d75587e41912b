"""Searching, asking and earlier answers: `/api/v1/search`, `/ask`, `/answers`, `/conversations`."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Path, Query, Request
from pydantic import BaseModel, BeforeValidator, Field, Strict
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from ragscience.core.errors import NothingFound, UsageError
from ragscience.core.records import Answer, Turn
from ragscience.core.serialization import select, to_json
from ragscience.engine.dialogue import Dialogue
from ragscience.engine.events import Event, Searched, StepDone, Thinking, Token, Warned
from ragscience.engine.printable import answer_output, conversation_output, search_output, turns_output
from ragscience.engine.requests import AskRequest, SearchRequest, filters_of
from ragscience.engine.review_runs import DraftChecks, draft_output, quote_output
from ragscience.engine.saved_answers import SavedAnswers
from ragscience.serving.access import person_of, state_of
from ragscience.serving.problem_responses import JsonReply, problem_of_error, without_folders, words_without_folders
from ragscience.serving.work import Failed, Finished, Work, happenings, until_done

Rerankers = Literal["auto", "cross-encoder", "late-interaction", "llm", "off"]
Kind = Literal["text", "abstract", "table", "caption", "equation", "footnote", "reference", "figure", "note", "all"]
Flag = Annotated[bool, Strict()]
PageNumber = Annotated[int, Strict(), Field(ge=1, le=1_000_000)]
Short = Annotated[str, Field(max_length=300)]


def _in_digits(value: object) -> object:
    """The same value. Raises ValueError for a text that Pydantic would take for a number: `1.0`, `+1`, `01`, `1_0`."""
    if isinstance(value, str) and value != str(int(value)):
        raise ValueError("not a number in digits")
    return value


IN_DIGITS = BeforeValidator(_in_digits)
"""For the annotation of a number."""
LARGEST_NUMBER = 2**62
"""Of a conversation, so that SQLite takes it."""
ConversationNumber = Annotated[int, IN_DIGITS, Path(ge=1, le=LARGEST_NUMBER)]
AnswerId = Annotated[str, Path(pattern="^[0-9a-f]{4,64}$", description="The id of an answer, or its beginning.")]


class LibraryPart(BaseModel, extra="forbid"):
    """Which part of the library; what is left out is not limited."""

    papers: Annotated[list[Short], Field(max_length=100, description="Parts or patterns of names.")] = []
    pages: Annotated[tuple[PageNumber, PageNumber] | None, Field(description="First and last page.")] = None
    sections: Annotated[list[Short], Field(max_length=20)] = []
    kinds: Annotated[list[Kind], Field(max_length=10)] = []
    years: Annotated[str | None, Field(max_length=20, description="2017, 2015-2020, 2015- or -2020.")] = None
    authors: Annotated[list[Short], Field(max_length=20)] = []
    collections: Annotated[list[Short], Field(max_length=20, description="Parts of names.")] = []
    tags: Annotated[list[Short], Field(max_length=20)] = []
    item_types: Annotated[list[Short], Field(max_length=20, description="As in Zotero: journalArticle.")] = []


class EarlierTurn(BaseModel, extra="forbid"):
    """An earlier question and its answer."""

    question: str = Field(max_length=8000)
    answer: str = Field(max_length=100_000)


class SearchBody(BaseModel, extra="forbid"):
    """A question to find passages for. What is left out is as the settings say."""

    question: str = Field(min_length=1, max_length=100_000)
    part: LibraryPart = LibraryPart()
    history: list[EarlierTurn] = Field([], max_length=100, description="Earlier turns, oldest first.")
    top_k: Annotated[int, Strict()] | None = Field(None, ge=1, le=200)
    profile: str | None = Field(None, max_length=40)
    rerank: Rerankers | None = None
    graph: Flag | None = None
    graph_filter: Flag = False

    def fields(self) -> dict[str, Any]:
        """The fields of the engine's request. Raises UsageError for filters that cannot be."""
        history = tuple(Turn(turn.question, turn.answer) for turn in self.history)
        given = self.model_dump(exclude={"part", "history", "conversation"})
        return given | {"filters": filters_of(**self.part.model_dump()), "history": history}


class AskBody(SearchBody):
    """A question to answer."""

    strict: Flag = False
    agent: Flag = False
    corrective: Flag | None = None
    plain: Flag = False
    conversation: Annotated[int, Strict()] | None = Field(
        None, ge=1, le=LARGEST_NUMBER, description="The number of the conversation that it belongs to."
    )


class QuoteBody(BaseModel, extra="forbid"):
    """A quote whose place is wanted."""

    quote: str = Field(min_length=1, max_length=5000)
    papers: Annotated[list[Short], Field(max_length=100, description="Parts or patterns of names.")] = []


class DraftBody(BaseModel, extra="forbid"):
    """A draft to check."""

    text: str = Field(min_length=1, max_length=1_000_000)
    name: Annotated[str, Field(max_length=300, description="Ends in the draft's format.")] = "draft.md"
    llm: Annotated[Flag, Field(description="Ask the language model about sentences that are unclear.")] = False


def history_of(request: Request) -> SavedAnswers:
    """The earlier answers of who asks."""
    return state_of(request).engine.history.for_person(person_of(request.scope).name)


question_routes = APIRouter(tags=["questions"], default_response_class=Response)


@question_routes.post("/search", response_description="As `search --json` prints it.")
async def search(body: SearchBody, request: Request) -> Response:
    """The ranked passages for a question."""
    state, wanted = state_of(request), SearchRequest(**body.fields())
    work = lambda put, cancel: state.engine.search(wanted, on_event=put, cancel=cancel)  # noqa: E731
    return JsonReply(search_output(await until_done(work, state.answers, request), None))


@question_routes.post("/quote", response_description="As `quote --json` prints it.")
def quote(body: QuoteBody, request: Request) -> Response:
    """Where a quote stands in the papers."""
    places = state_of(request).engine.review.quote(body.quote, body.papers)
    return JsonReply(quote_output(body.quote, places))


@question_routes.post("/check", response_description="As `check --json` prints it.")
async def check(body: DraftBody, request: Request) -> Response:
    """What the papers hold of each sentence of a draft that cites one."""
    state, checks = state_of(request), DraftChecks(llm=body.llm)
    work = lambda _, cancel: state.engine.review.check_text(body.text, body.name, checks, cancel)  # noqa: E731
    return JsonReply(draft_output(await until_done(work, state.answers, request)))


@question_routes.post("/ask", response_description="As `ask --json` prints it.")
async def ask(body: AskBody, request: Request) -> Response:
    """The answer to a question, checked against its pages."""
    talk = dialogue_of(request, body.conversation)
    work = asking(request, AskRequest(**body.fields()), talk)
    return JsonReply(_answer(await until_done(work, state_of(request).answers, request), talk))


@question_routes.post(
    "/ask/events", response_class=EventSourceResponse, responses={200: {"content": {"text/event-stream": {}}}}
)
async def ask_events(body: AskBody, request: Request) -> EventSourceResponse:
    """The same as server-sent events: `searching`, `step`, `token`, `warning`, then `answer` or `error`."""
    state, talk = state_of(request), dialogue_of(request, body.conversation)
    work = asking(request, AskRequest(**body.fields()), talk)

    async def told() -> AsyncIterator[ServerSentEvent]:
        async with aclosing(happenings(work, state.answers)) as came:
            async for event in came:
                if (shown := event_of(event, talk, state.engine.home.root)) is not None:
                    yield shown

    return EventSourceResponse(told())


@question_routes.get("/answers/{answer_id}", response_description="As `ask --json` prints it.")
def answer_of(answer_id: AnswerId, request: Request) -> Response:
    """An earlier answer, with its sources."""
    kept = history_of(request).answer(answer_id)
    number, at = kept.conversation_id, kept.created_at
    return JsonReply(answer_output(kept.answer, conversation=number, created_at=at))


@question_routes.get("/profiles")
def profiles(request: Request) -> Response:
    """The ways to search, and which of them the settings choose."""
    engine = state_of(request).engine
    rows = [
        {"name": each.name, "about": each.about, "chosen": each.name == engine.settings.profile}
        for each in engine.profiles()
    ]
    return JsonReply({"profiles": rows})


@question_routes.get("/conversations", response_description="As `history list --json` prints it.")
def conversations(request: Request, limit: Annotated[int, Query(ge=1, le=1000)] = 100) -> Response:
    """The conversations that are kept, the one changed last first."""
    every = history_of(request).conversations()[:limit]
    return JsonReply(select("schema conversations", conversations=[conversation_output(each) for each in every]))


@question_routes.get("/conversations/{number}", response_description="As `history show --json` prints it.")
def conversation(number: ConversationNumber, request: Request) -> Response:
    """One conversation with all its answers."""
    return JsonReply(turns_output(*history_of(request).conversation(number)))


@question_routes.delete("/conversations/{number}", status_code=204)
def forget(number: ConversationNumber, request: Request) -> Response:
    """Delete a conversation with all its answers."""
    history_of(request).delete(number)
    return Response(status_code=204)


def dialogue_of(request: Request, number: int | None = None) -> Dialogue:
    """The conversation of that number among those of who asks, or a new one. Raises NothingFound."""
    person = person_of(request.scope).name
    try:
        return state_of(request).engine.dialogue(name=None if number is None else str(number), person=person)
    except UsageError as error:
        raise NothingFound(error.message, "GET /api/v1/conversations lists them.") from error


def asking(request: Request, wanted: AskRequest, talk: Dialogue) -> Work[Answer]:
    """The work of an answer."""
    engine = state_of(request).engine
    return lambda put, cancel: engine.ask(wanted, dialogue=talk, on_event=put, cancel=cancel)


_SENT: dict[type[Event], tuple[str, str]] = {
    Token: ("token", "text"), Searched: ("searching", "query"), Thinking: ("thinking", "model"),
}  # fmt: skip
"""Events that are sent by one of their fields."""


def event_of(event: Event, talk: Dialogue, home: FilePath) -> ServerSentEvent | None:
    """What is sent of an event; None for one that clients have no use for."""
    if isinstance(event, Finished):
        name, value = "answer", cast(object, _answer(event.result, talk))
    elif isinstance(event, Failed):
        name, value = "error", problem_of_error(event.error)
    elif isinstance(event, StepDone):
        name, value = "step", event.step
    elif isinstance(event, Warned):
        name, value = "warning", {"text": words_without_folders(event.text, home)}
    elif (sent := _SENT.get(type(event))) is not None:
        name, field = sent
        value = {field: getattr(event, field)}
    else:
        return None
    return ServerSentEvent(to_json(without_folders(value, home)), event=name)


def _answer(answer: Answer, talk: Dialogue) -> dict[str, Any]:
    kept = talk.turns[-1]
    return answer_output(answer, conversation=kept.conversation_id, created_at=kept.created_at)
