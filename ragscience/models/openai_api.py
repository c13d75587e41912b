"""A server with OpenAI's API on this machine or another: llama.cpp, LM Studio, vLLM and their like.

Its models and context window over plain HTTP, requested at most once; its chat is in openai_llm.py. The shapes are
those of OpenAI's API reference, of llama.cpp's server (`/props`), of vLLM (`max_model_len` in `/v1/models`) and of LM
Studio (`loaded_context_length` in `/api/v0/models`, https://lmstudio.ai/docs/developer/rest/endpoints).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from pydantic import SecretStr

from ragscience.core.errors import ModelProblem
from ragscience.models.json_server import MALFORMED, JsonServer, ServerStatus, error_text, positive

__all__ = ["ACCEPTED_BY_NOBODY", "OpenAIServer"]

ACCEPTED_BY_NOBODY = "none"
"""What is sent as the key where there is none: OpenAI's client would send its own environment variable's."""
_MOST_NAMED = 5
"""Models that a message names."""


class OpenAIServer(JsonServer):
    """A server with OpenAI's API: `url` is its base, such as http://127.0.0.1:8080/v1; `key` may be empty.

    The key goes to this server alone, in a header, and is taken out of what the server says.
    """

    def __init__(
        self,
        url: str,
        *,
        setting: str,
        key: SecretStr,
        connect_seconds: float,
        timeout_seconds: float,
        offline: bool,
    ) -> None:
        super().__init__(url, connect_seconds=connect_seconds, timeout_seconds=timeout_seconds, offline=offline)
        self.called = "a server with OpenAI's API"
        self.setting = setting
        self.key = key

    def headers(self) -> dict[str, str]:
        """The key, where there is one."""
        key = self.key.get_secret_value()
        return super().headers() | ({"authorization": f"Bearer {key}"} if key else {})

    def redacted(self, text: str) -> str:
        """A text of the server's without the key."""
        key = self.key.get_secret_value()
        return text.replace(key, "…") if key else text

    @cached_property
    def _listed(self) -> Mapping[str, Any]:
        """The entries of /models by name. Raises what `json` raises, and MALFORMED for another shape."""
        entries = self.json("/models", None, self.connect_seconds)["data"]
        return {str(entry["id"]): entry for entry in entries}

    @cached_property
    def status(self) -> ServerStatus:
        """The status, requested once. Never raises: without an answer it is not running."""
        import urllib.error
        from http.client import HTTPException

        if self.is_forbidden:
            return ServerStatus(False, why=f"offline, and {self.shown} is another machine")
        try:
            return ServerStatus(True, models=dict.fromkeys(self._listed, ""))
        except urllib.error.HTTPError as error:
            return ServerStatus(False, why=self._refusal(error))
        except OSError:
            return ServerStatus(False, why=f"no server answers at {self.shown}")
        except (HTTPException, *MALFORMED):
            return ServerStatus(False, why=f"what answers at {self.shown} does not speak OpenAI's API")

    def _refusal(self, error: Any) -> str:
        said = self.redacted(error_text(error))
        if error.code in (401, 403):
            with_key = "refuses the key" if self.key.get_secret_value() else "wants a key"
            return f"the server at {self.shown} {with_key} (HTTP {error.code})"
        if error.code == 503:
            return f"the server at {self.shown} is not ready yet (HTTP 503{': ' + said if said else ''})"
        return f"what answers at {self.shown} does not speak OpenAI's API (HTTP {error.code})"

    @property
    def remedy(self) -> str:
        """What helps where it is not running."""
        if self.is_forbidden:
            return f"Leave out --offline, or set {self.setting}."
        if "key" in self.status.why:
            return "Set RAG_LLM_KEY, or name a file that holds the key in RAG_LLM_KEY_FILE."
        return f"Start it, or correct {self.setting}: it usually ends in /v1."

    def choose(self, name: str, *, is_set: bool) -> str | None:
        """The full name of the model to use; the only one that there is, where nobody has set a name; else None."""
        full = self.status.find(name)
        models = tuple(self.status.models)
        return full or (models[0] if len(models) == 1 and not is_set else None)

    def without(self, name: str) -> str:
        """A sentence, without its full stop, about a model that it does not have."""
        models = sorted(self.status.models)
        more = f" and {len(models) - _MOST_NAMED} more" if len(models) > _MOST_NAMED else ""
        has = f"it has {', '.join(models[:_MOST_NAMED])}{more}" if models else "it lists none"
        return f"the server at {self.shown} has no model {name}: {has}"

    def require(self, name: str, *, is_set: bool, variable: str) -> str:
        """The full name of a model that it has. Raises ModelProblem: offline, not running, or without that model."""
        if not self.status.running:
            raise ModelProblem(f"{_capital(self.status.why)}.", self.remedy)
        full = self.choose(name, is_set=is_set)
        if full is None:
            raise ModelProblem(f"{_capital(self.without(name))}.", f"Name one that it has in {variable}.")
        return full

    def context_length(self, name: str) -> int | None:
        """The window that the server gives the model, in tokens; None where it does not tell."""
        from http.client import HTTPException

        entry = self._listed.get(name) if self.status.running else None
        if isinstance(entry, dict) and positive(entry.get("max_model_len")):
            return positive(entry["max_model_len"])
        try:
            generation = self._props["default_generation_settings"]
            return positive(generation.get("n_ctx"))
        except (OSError, HTTPException, *MALFORMED):
            return self._loaded_context(name)

    def _loaded_context(self, name: str) -> int | None:
        """The window that LM Studio has loaded the model with, in tokens; None before that, and for other servers."""
        from http.client import HTTPException

        try:
            entries = self.json(self._beside("/api/v0/models"), None, self.connect_seconds)["data"]
            return next((positive(each.get("loaded_context_length")) for each in entries if each["id"] == name), None)
        except (OSError, HTTPException, *MALFORMED):
            return None

    def parameters(self, name: str) -> int | None:
        """How many parameters the model has; llama.cpp's server alone tells."""
        try:
            return positive(self._listed[name]["meta"]["n_params"]) if self.status.running else None
        except MALFORMED:
            return None

    @property
    def knows_no_tools(self) -> bool:
        """Whether the server tells that its model's template has no place for tools."""
        from http.client import HTTPException

        try:
            return self._props["chat_template_caps"]["supports_tools"] is False
        except (OSError, HTTPException, *MALFORMED):
            return False

    @cached_property
    def _props(self) -> dict[str, Any]:
        """llama.cpp's /props, which is beside /v1."""
        return self.json(self._beside("/props"), None, self.connect_seconds)

    def _beside(self, path: str) -> str:
        """The address of what the server has outside OpenAI's API."""
        return self.url.removesuffix("/v1") + path


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
