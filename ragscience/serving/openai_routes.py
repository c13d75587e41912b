"""The library as a model in OpenAI's form: `/v1/chat/completions`, `/v1/models`.

The last message of the user is the question, the messages before it are its history. Citations stand in the text;
`sources`, a field of ours, has them apart.
"""

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal
from uuid import uuid4

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field, Strict
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.responses import Response

from ragscience.core.errors import NothingFound, UsageError
from ragscience.core.records import Answer, Turn
from ragscience.core.serialization import select, to_json
from ragscience.engine.events import Event, Token
from ragscience.engine.places import sources_of
from ragscience.engine.requests import AskRequest
from ragscience.serving.access import state_of
from ragscience.serving.problem_responses import JsonReply, openai_error, problem_of_error, without_folders
from ragscience.serving.question_routes import asking, dialogue_of
from ragscience.serving.work import Failed, Finished, happenings, until_done

MODELS = {"ragscience": False, "ragscience-agent": True}
"""The models by name, and whether the agent answers."""
LONGEST_INPUT = 100_000
"""Characters of a message."""
_OBJECT = {"schema": {"type": "object"}}
_AS_JSON: dict[int | str, dict[str, Any]] = {200: {"content": {"application/json": _OBJECT}}}


class TextPart(BaseModel):
    """A part of a message; only text can be read."""

    type: Literal["text"]
    text: Annotated[str, Field(max_length=LONGEST_INPUT)]


class Message(BaseModel):
    """A turn of the conversation."""

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: Annotated[str, Field(max_length=LONGEST_INPUT)] | list[TextPart] | None = None

    def text(self) -> str:
        """What it says."""
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content)
        return self.content or ""


class ChatBody(BaseModel):
    """A chat; fields that steer a model's wording (`temperature`, `max_tokens`, …) are the settings' here."""

    model: Annotated[str, Field(max_length=100)] = "ragscience"
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)]
    stream: Annotated[bool, Strict()] = False
    n: Literal[1] = 1


openai_routes = APIRouter(tags=["openai"], default_response_class=Response)


@openai_routes.get("/models", responses=_AS_JSON)
def models() -> Response:
    """The models: the library, asked once or by the agent."""
    return JsonReply({"object": "list", "data": [_model(name) for name in MODELS]})


@openai_routes.get("/models/{name:path}", responses=_AS_JSON)
def model(name: str) -> Response:
    """One of them."""
    if name not in MODELS:
        raise NothingFound(f"There is no model {name[:100]!r}.", "GET /v1/models lists them.")
    return JsonReply(_model(name))


@openai_routes.post(
    "/chat/completions", responses={200: {"content": {"application/json": _OBJECT, "text/event-stream": {}}}}
)
async def chat(body: ChatBody, request: Request) -> Response:
    """The answer to the last message, in one piece or as it comes."""
    state = state_of(request)
    if body.model not in MODELS:
        raise NothingFound(f"There is no model {body.model!r}.", f"Take one of {', '.join(MODELS)}.")
    work = asking(request, _asked(body), dialogue_of(request))
    if body.stream:
        came = happenings(work, state.answers)
        return EventSourceResponse(_chunks(came, body.model, state.engine.home.root), ping=10)
    return JsonReply(_completion(await until_done(work, state.answers, request), body.model))


def _asked(body: ChatBody) -> AskRequest:
    """The last message of the user with the turns before it. Raises UsageError where there is none."""
    said = [message for message in body.messages if message.role in ("user", "assistant")]
    if not said or said[-1].role != "user" or not said[-1].text().strip():
        raise UsageError("The last message is not a question of the user.", 'End with {"role": "user", …}.')
    turns: list[Turn] = []
    question = ""
    for message in said[:-1]:
        if message.role == "user":
            question = message.text()
        elif question:
            turns.append(Turn(question, message.text()))
            question = ""
    return AskRequest(said[-1].text(), history=tuple(turns), agent=MODELS[body.model])


async def _chunks(came: AsyncGenerator[Event], model: str, home: FilePath) -> AsyncIterator[ServerSentEvent]:
    """The pieces of an answer, then what the check changed, then its sources."""
    at, made, sent = int(time.time()), uuid4().hex, ""
    async with aclosing(came):
        async for event in came:
            if isinstance(event, Token):
                sent += event.text
                yield _chunk(model, made, at, {"role": "assistant", "content": event.text})
            elif isinstance(event, Finished):
                answer = event.result
                if answer.text.strip() != sent.strip():
                    rest = f"\n\nThe checked answer:\n\n{answer.text}" if sent else answer.text
                    yield _chunk(model, made, at, {"role": "assistant", "content": rest})
                yield _chunk(model, made, at, {}, finish="stop", sources=_sources(answer))
            elif isinstance(event, Failed):
                error = openai_error(problem_of_error(event.error))
                yield ServerSentEvent(to_json(without_folders({"error": error}, home)))
        yield ServerSentEvent("[DONE]")


def _chunk(
    model: str, made: str, at: int, delta: dict[str, str], *, finish: str | None = None, sources: Any = None
) -> ServerSentEvent:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    value = {"id": f"chatcmpl-{made}", "object": "chat.completion.chunk", "created": at, "model": model}
    return ServerSentEvent(to_json(value | {"choices": [choice]} | ({"sources": sources} if sources else {})))


def _completion(answer: Answer, model: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": answer.text, "refusal": None}
    tokens = answer.tokens
    prompt, reply = tokens.get("prompt", 0), tokens.get("answer", 0)
    return {
        "id": f"chatcmpl-{answer.answer_id}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": reply, "total_tokens": prompt + reply},
        "sources": _sources(answer),
    }


def _sources(answer: Answer) -> list[dict[str, Any]]:
    if answer.refused:
        return []
    return [
        select("number file page", source) | {"quotes": [cited.quote for cited in source.citations if cited.quote]}
        for source in sources_of(answer)
    ]


def _model(name: str) -> dict[str, object]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "ragscience"}
