"""Servers of models: Ollama, and any server with OpenAI's API (llama.cpp, LM Studio, vLLM).

Whether they answer and with which models, what a model is like, and their failures as messages. Chat is in
served_llm.py, embeddings are in served_embedder.py. The shapes of Ollama are those of https://docs.ollama.com/api; the
others are of OpenAI's API reference, of llama.cpp's server (`/props`), of vLLM (`max_model_len` in `/v1/models`) and of
LM Studio (`loaded_context_length` in `/api/v0/models`).
"""

import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, suppress
from functools import cached_property, partial
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import SecretStr

from ragscience.core.errors import ModelProblem, shown_address
from ragscience.core.tokenizing import some_of
from ragscience.models import model_http as http
from ragscience.models.model_http import MALFORMED, positive
from ragscience.models.model_protocols import ModelDetails, ServerStatus

T = TypeVar("T")

_LONGEST_ANSWER = 16 * 2**20
"""Bytes of the answer to a small request: a list of ten thousand models."""
_MOST_NAMED = 5
"""Models that a message names."""
_KEY_FIX = "Set RAG_LLM_KEY, or name a file that holds the key in RAG_LLM_KEY_FILE."
NO_KEY = "none"
"""What is sent as the key where there is none."""
_AGAIN = "Try again; the server's own log may say more."


class ModelServer(ABC):
    """A model server; `offline` rejects one that is not on this machine, `key` goes to this server alone.

    Requests to this machine never use a proxy, whatever the environment sets.
    """

    called = "the server"
    """What messages call it."""
    connect_seconds = 5.0
    """Time limit for a connection, and for a small request."""
    _unanswered = _start = _other = ""
    _may_be_only = True
    """Whether its only model may be taken under another name."""

    def __init__(
        self, url: str, *, setting: str, timeout_seconds: float, offline: bool, key: SecretStr | None = None
    ) -> None:
        self.url = url.rstrip("/")
        self.shown = shown_address(self.url)
        """The address as a message may show it."""
        self.setting = setting
        """The environment variable of its address."""
        self.unanswered, self.start = self._unanswered.format(self.shown), self._start.format(setting)
        self.timeout_seconds = timeout_seconds
        """Time limit for each further piece of a reply, and for an embedding."""
        self.offline = offline
        self.key = key or SecretStr("")
        self.client_options = partial(http.client_options, self.url, self.connect_seconds)
        """`model_http.client_options` for this server."""

    @abstractmethod
    def _list(self) -> tuple[str, Mapping[str, str]]:
        """The version, and the models with their digests. Raises one of `json_errors`."""

    @abstractmethod
    def show(self, name: str) -> ModelDetails:
        """What the server says about a model that it has. Raises ModelProblem."""

    @abstractmethod
    def served_context(self, name: str) -> int | None:
        """The window that the server gives the loaded model, in tokens; None where it does not say."""

    @abstractmethod
    def without(self, name: str) -> ModelProblem:
        """The problem that it has no such model."""

    @abstractmethod
    def reply_errors(self) -> tuple[type[Exception], ...]:
        """What a call of LangChain's client may end in."""

    @property
    def is_forbidden(self) -> bool:
        """Whether it is another machine, and only this one may be spoken to."""
        return self.offline and not http.is_loopback(self.url)

    @cached_property
    def status(self) -> ServerStatus:
        """The status, requested once. Never raises: without an answer it is not running."""
        if self.is_forbidden:
            return ServerStatus(False, why=f"offline, and {self.called} at {self.shown} is another machine")
        try:
            if http.is_loopback(self.url):  # importing httpx takes longer than finding that nobody listens
                at = urlsplit(self.url)
                port = at.port or (443 if at.scheme == "https" else 80)
                socket.create_connection((at.hostname or "", port), self.connect_seconds).close()
        except (OSError, ValueError):
            return ServerStatus(False, why=self.unanswered)
        try:
            return ServerStatus(True, *self._list())
        except http.json_errors() as error:
            return ServerStatus(False, why=self._why(error))

    def _why(self, error: Exception) -> str:
        code, said = http.status_of(error), self._said(error)
        if code in (401, 403):
            wants = "refuses the key" if self.key.get_secret_value() else "wants a key"
            return f"the server at {self.shown} {wants} (HTTP {code})"
        if code == 503:
            return f"the server at {self.shown} is not ready yet (HTTP 503{': ' + said if said else ''})"
        if code is None and not isinstance(error, MALFORMED):
            return self.unanswered
        return f"what answers at {self.shown} {self._other}{f' (HTTP {code})' if code else ''}"

    @property
    def remedy(self) -> str:
        """What helps where it is not running."""
        if self.is_forbidden:
            return f"Leave out --offline, or set {self.setting}."
        return _KEY_FIX if " key (" in self.status.why else self.start

    def require(self, name: str, *, is_set: bool = True) -> str:
        """The full name of a model that it has; its only one, where nobody has set a name and it is not Ollama.

        Raises ModelProblem: offline, not running, or without that model.
        """
        if not self.status.running:
            raise ModelProblem(f"{_capital(self.status.why)}.", self.remedy)
        models = tuple(self.status.models)
        only = models[0] if len(models) == 1 and not is_set and self._may_be_only else None
        if full := self.status.find(name) or only:
            return full
        raise self.without(name)

    def json(self, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The object that the server answers with; `path` starts at its address, or is a whole URL.

        Raises one of `json_errors`.
        """
        import httpx

        seconds = self.connect_seconds if body is None else self.timeout_seconds
        key = self.key.get_secret_value()
        with httpx.Client(**self.client_options(seconds, seconds, _LONGEST_ANSWER)) as client:
            headers, how = {"authorization": f"Bearer {key}"} if key else {}, "GET" if body is None else "POST"
            response = client.request(how, path if "://" in path else self.url + path, json=body, headers=headers)
            response.raise_for_status()
            value: dict[str, Any] = response.json()
        return value

    def asked(
        self, name: str, ask: Callable[[], Generator[T, None, None]], *, attempts: int, sleep: Callable[[float], None]
    ) -> Generator[T, None, None]:
        """What `ask` gives, asked again after a pause where it failed before anything came. Raises ModelProblem."""
        for attempt in range(1, attempts + 1):
            begun = False
            try:
                with closing(ask()) as pieces:
                    for piece in pieces:
                        begun = True
                        yield piece
                return
            except self.reply_errors() as error:
                pause = http.retry_pause(error)
                if begun or attempt == attempts or pause is None:
                    raise self.problem(error, name) from error
                sleep(pause)

    def problem(self, error: Exception, name: str) -> ModelProblem:
        """One of `reply_errors` or `json_errors` as one line and a fix, without the key."""
        import httpx
        from pydantic import ValidationError

        cause, called = http.cause_of(error), _capital(self.called)
        if isinstance(cause, httpx.ConnectError | httpx.ConnectTimeout | ConnectionError):
            return ModelProblem(f"{_capital(self.unanswered)}.", self.start)
        if isinstance(cause, httpx.TimeoutException):
            fix = "Raise RAG_LLM_TIMEOUT_SECONDS, or choose a smaller model."
            return ModelProblem(f"{name} sent nothing for {self.timeout_seconds:g} s.", fix)
        if isinstance(cause, httpx.TransportError):
            broke = f"The connection to {self.called} at {self.shown} broke ({type(cause).__name__})."
            return ModelProblem(broke, "Try again.")
        code, said = http.status_of(error), self._said(error)
        if code is not None:
            return self._refused(code, said, name)
        if isinstance(error, ValidationError) or (isinstance(error, MALFORMED) and not isinstance(error, ValueError)):
            return ModelProblem(f"What {name} replied is not of the form of {called}'s replies.", _AGAIN)
        return ModelProblem(f"{name}'s reply could not be read: {said or type(error).__name__}.", _AGAIN)

    def _refused(self, code: int, said: str, name: str) -> ModelProblem:
        told, folded = (f": {said}" if said else ""), said.casefold()
        server = f"{_capital(self.called)} at {self.shown}"
        if code in (401, 403):
            key = "does not accept the key" if self.key.get_secret_value() else "wants a key"
            return ModelProblem(f"{server} {key} (HTTP {code}).", _KEY_FIX)
        if code == 404:
            return self.without(name)
        for words, meaning, fix in http.REFUSALS:
            if any(each in folded for each in words):
                return ModelProblem(f"{meaning.format(name)}{told}.", fix)
        if code == 429:
            return ModelProblem(f"{server} is busy (HTTP 429{told}).", "Try again in a moment.")
        status = f" (HTTP {code}{told})" if code > 0 else told
        fix = f"Set {self.setting} to the address itself; redirects are not followed." if 300 <= code < 400 else _AGAIN
        return ModelProblem(f"{server} failed with {name}{status}.", fix)

    def _said(self, error: Exception) -> str:
        """The server's own words in one line, without the key."""
        key, text = self.key.get_secret_value(), http.said_by(error)
        return http.one_line(text.replace(key, "…") if key else text)


class Ollama(ModelServer):
    """An Ollama server: `url` as http://127.0.0.1:11434."""

    called, _unanswered, _other = "Ollama", "Ollama does not answer at {}", "is not Ollama"
    _start = "Start it with `ollama serve`."
    _may_be_only = False
    connect_seconds = 1.0
    """It is asked before each answer, and is not running on many machines."""

    def __init__(self, url: str, *, timeout_seconds: float, offline: bool) -> None:
        super().__init__(url, setting="RAG_OLLAMA_URL", timeout_seconds=timeout_seconds, offline=offline)

    def without(self, name: str) -> ModelProblem:
        """The problem that it has no such model."""
        return ModelProblem(f"Ollama has no model {name}.", f"Fetch it with `ollama pull {name}`.")

    def reply_errors(self) -> tuple[type[Exception], ...]:
        """What a call of its own client may end in."""
        import ollama

        return (ollama.ResponseError, *http.json_errors())

    def _list(self) -> tuple[str, Mapping[str, str]]:
        version = str(self.json("/api/version").get("version", ""))
        listed = self.json("/api/tags").get("models") or []
        return version, {str(model["name"]): str(model.get("digest", "")) for model in listed}

    def show(self, name: str) -> ModelDetails:
        """The answer of /api/show. Raises ModelProblem."""
        try:
            answer = self.json("/api/show", {"model": name})
            info = answer.get("model_info") or {}
            architecture = info.get("general.architecture", "")
            context, dimension = (info.get(f"{architecture}.{key}") for key in ("context_length", "embedding_length"))
            capabilities = tuple(str(each) for each in answer.get("capabilities") or ())
            parameters = positive(info.get("general.parameter_count"))
        except http.json_errors() as error:
            raise self.problem(error, name) from None
        return ModelDetails(positive(context), positive(dimension), capabilities, parameters)

    def served_context(self, name: str) -> int | None:
        """The window of a loaded model (/api/ps), in tokens; None if unknown."""
        with suppress(*http.json_errors()):
            loaded = self.json("/api/ps").get("models") or []
            return next((positive(each.get("context_length")) for each in loaded if each.get("name") == name), None)
        return None


class OpenAIServer(ModelServer):
    """A server with OpenAI's API: `url` is its base, such as http://127.0.0.1:8080/v1."""

    _unanswered, _other = "no server answers at {}", "does not speak OpenAI's API"
    _start = "Start it, or correct {}: it usually ends in /v1."

    def without(self, name: str) -> ModelProblem:
        """The problem that it has no such model, with those that it has."""
        has = f"it has {some_of(sorted(self.status.models), _MOST_NAMED)}" if self.status.models else "it lists none"
        variable = "RAG_EMBEDDING_MODEL" if "EMBED" in self.setting else "RAG_LLM"
        problem = f"The server at {self.shown} has no model {name}: {has}."
        return ModelProblem(problem, f"Name one that it has in {variable}.")

    def langchain_options(self, read_seconds: float | None, seconds: float | None, longest: int) -> dict[str, Any]:
        """Arguments for LangChain's models of OpenAI's API. Raises ModelProblem where their package is missing."""
        http.check_installed()
        import httpx

        client = self.client_options(read_seconds, seconds, longest)
        return {
            "base_url": self.url,
            # OpenAI's client would send its own environment variable's key, and set no time limit.
            "api_key": self.key if self.key.get_secret_value() else SecretStr(NO_KEY),
            "timeout": client["timeout"],
            "max_retries": 0,
            "http_client": httpx.Client(**client),
        }

    def reply_errors(self) -> tuple[type[Exception], ...]:
        """What a call of OpenAI's client may end in."""
        import openai

        return (openai.OpenAIError, *http.json_errors())

    @cached_property
    def _entries(self) -> Mapping[str, Any]:
        """The entries of /models by name."""
        return {str(entry["id"]): entry for entry in self.json("/models")["data"]}

    def _list(self) -> tuple[str, Mapping[str, str]]:
        return "", dict.fromkeys(self._entries, "")

    def show(self, name: str) -> ModelDetails:
        """What it says about a model, which is little with most servers."""
        meta = self._entry(name).get("meta")
        parameters = positive(meta.get("n_params")) if isinstance(meta, dict) else None
        calls_tools = True
        with suppress(*http.json_errors()):
            calls_tools = self._props["chat_template_caps"]["supports_tools"] is not False
        return ModelDetails(self.served_context(name), None, ("tools",) if calls_tools else (), parameters)

    def served_context(self, name: str) -> int | None:
        """The window that the server gives the model, in tokens; None where it does not say."""
        longest = positive(self._entry(name).get("max_model_len"))
        if longest:
            return longest
        with suppress(*http.json_errors()):
            return positive(self._props["default_generation_settings"].get("n_ctx"))
        with suppress(*http.json_errors()):  # LM Studio says it of a loaded model
            entries = self.json(self._beside("/api/v0/models"))["data"]
            return next((positive(each.get("loaded_context_length")) for each in entries if each["id"] == name), None)
        return None

    def _entry(self, name: str) -> dict[str, Any]:
        entry = self._entries.get(name) if self.status.running else None
        return entry if isinstance(entry, dict) else {}

    @cached_property
    def _props(self) -> dict[str, Any]:
        """llama.cpp's /props, which is beside /v1."""
        return self.json(self._beside("/props"))

    def _beside(self, path: str) -> str:
        return self.url.removesuffix("/v1") + path  # what the server has outside OpenAI's API


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
