"""Structured output from an LLM: JSON of a given shape, extracted, validated, retried once.

Ollama's `format` constrains a model to a JSON schema during decoding (https://docs.ollama.com/capabilities/structured-outputs).
Not every server and model obeys, so the output is not trusted: JSON is searched for in the reply, and the caller's
`read` validates its shape.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from ragscience.core.errors import Cancelled, ModelProblem
from ragscience.models.model_http import cancellable
from ragscience.models.model_protocols import ChatModel, Reply

T = TypeVar("T")

_LONGEST_SEARCHED = 60_000
"""Characters of a reply in which JSON is searched for."""
_MOST_STARTS = 200
"""Brackets at which parsing is tried."""
_LONGEST_REPEATED = 2_000
"""Characters of a wrong reply that the repair prompt repeats."""
THOUGHT = re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE)
"""A thought, also one that has not ended."""
_CLOSED_ONLY = re.compile(r"\A.*</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_REPAIR = """\
That cannot be used: {why}.
Reply again, with one JSON value of this schema and nothing else, no words around it:
{schema}"""


@dataclass(frozen=True, slots=True)
class Structured(Generic[T]):
    """The result of a structured question."""

    value: T | None
    """None if no reply had the shape."""
    calls: int
    """Calls of the model: 1, or 2 with the repair."""
    tokens: Mapping[str, int] = field(default_factory=dict)
    """Keys `prompt` and `answer`, over all calls, as far as the server counted them."""
    failure: str = ""
    """Why there is no value, in one line; empty if there is one."""
    problem: ModelProblem | None = None
    """The server's failure, if that is why there is no value."""


def ask_structured(
    llm: ChatModel,
    messages: Sequence[tuple[str, str]],
    *,
    schema: Mapping[str, Any],
    read: Callable[[Any], T],
    max_tokens: int,
    seconds: float,
) -> Structured[T]:
    """The value that `read` makes of the model's JSON; `read` raises ValueError for a wrong shape.

    JSON in a code fence, between words or in the model's thoughts counts too: the first value that `read` accepts. A
    reply without one is retried once, with the error in the prompt. Both calls share `seconds` of wall time; a
    reply that is still streaming at the deadline is dropped. Errors of model and server are returned, not raised.
    """
    tokens: dict[str, int] = {}
    prompt = list(messages)
    reply = llm.reply(prompt, max_tokens=max_tokens, schema=schema)
    deadline = time.monotonic() + seconds
    why = ""
    for attempt in (1, 2):
        text, problem = _text_of(reply, deadline, tokens)
        if problem is not None:
            return Structured(None, attempt, tokens, str(problem), problem)
        value, why = _first_read(text, read)
        if value is not None:
            return Structured(value[0], attempt, tokens)
        if attempt == 2 or time.monotonic() >= deadline:
            break
        shown = [("assistant", text[:_LONGEST_REPEATED])] if text.strip() else []
        repair = _REPAIR.format(why=why, schema=json.dumps(schema))
        prompt = [*messages, *shown, ("user", repair)]
        reply = llm.reply(prompt, max_tokens=max_tokens, schema=schema)
    late = time.monotonic() >= deadline
    failed = f"was not done after {seconds:g} seconds" if late else f"gave no usable JSON: {why}"
    return Structured(None, attempt, tokens, f"{llm.name} {failed}.")


def json_values(text: str) -> Iterator[Any]:
    """Each JSON object or list in a text, outermost ones only: those outside of thoughts first.

    NaN and the infinities, which are not JSON, invalidate the value that contains them.
    """
    spoken = without_thoughts(text)
    yield from _values(spoken)
    if spoken != text:
        yield from _values(text)


def _text_of(reply: Reply, deadline: float, tokens: dict[str, int]) -> tuple[str, ModelProblem | None]:
    """The model's output until `deadline`, and the server's failure, if any; adds to `tokens`."""
    text: list[str] = []
    problem: ModelProblem | None = None
    try:
        with closing(cancellable(iter(reply), lambda: time.monotonic() >= deadline)) as pieces:
            text.extend(pieces)
    except ModelProblem as raised:
        problem = raised
    except Cancelled:
        if time.monotonic() < deadline:
            raise
    for name, count in (("prompt", reply.prompt_tokens), ("answer", reply.answer_tokens)):
        if count is not None:
            tokens[name] = tokens.get(name, 0) + count
    return "".join(text), problem


def _first_read(text: str, read: Callable[[Any], T]) -> tuple[tuple[T] | None, str]:
    """The value that `read` makes of the first JSON that it accepts, or the reason why there is none."""
    why = "it holds no JSON" if text.strip() else "it is empty"
    complained = False
    for value in json_values(text):
        try:
            return (read(value),), ""
        except ValueError as error:
            # The first value's error counts: it is the outermost and most often the intended one.
            why = why if complained else " ".join(str(error).split())[:300].rstrip(".") or "its shape is wrong"
            complained = True
    return None, why


def _values(text: str) -> Iterator[Any]:
    decoder = json.JSONDecoder(strict=False, parse_constant=_no_constant)
    text = text[:_LONGEST_SEARCHED]
    at = 0
    for _ in range(_MOST_STARTS):
        starts = [start for start in (text.find("{", at), text.find("[", at)) if start >= 0]
        if not starts:
            return
        at = min(starts)
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        yield value


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def without_thoughts(text: str) -> str:
    """`text` without the text between <think> and </think>; a thought may lack either end."""
    return _CLOSED_ONLY.sub("", THOUGHT.sub("", text))
