"""The clients of the model servers that the settings name."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from ragscience.core.settings import ENV_PREFIX, server_key
from ragscience.engine.made_once import MadeOnce, Warn
from ragscience.models.ollama_api import Ollama

if TYPE_CHECKING:
    from ragscience.core.settings import Settings
    from ragscience.models.openai_api import OpenAIServer

__all__ = ["ModelServers"]

UrlSetting = Literal["llm_url", "embed_url"]


class ModelServers:
    """Clients by the settings that decide them; each asks its server for its state once."""

    def __init__(self, made: MadeOnce) -> None:
        self._made = made

    def ollama(self, settings: Settings) -> Ollama:
        """The client of the Ollama server, whose state is requested once."""

        def make(_: Warn) -> Ollama:
            _kind, url, connect, timeout, offline = _ollama_key(settings)
            return Ollama(url, connect_seconds=connect, timeout_seconds=timeout, offline=offline)

        return self._made.get(_ollama_key(settings), make, _ignore)

    def openai(self, settings: Settings, name: UrlSetting) -> OpenAIServer | None:
        """The client of a server with OpenAI's API; None where the setting `name` is empty. Raises UsageError."""
        if not getattr(settings, name):
            return None
        from ragscience.models.openai_api import OpenAIServer

        def make(_: Warn) -> OpenAIServer:
            _kind, setting, url, connect, timeout, offline = _openai_key(settings, name)
            return OpenAIServer(
                url,
                setting=f"{ENV_PREFIX}{setting.upper()}",
                key=server_key(settings),
                connect_seconds=connect,
                timeout_seconds=timeout,
                offline=offline,
            )

        return self._made.get(_openai_key(settings, name), make, _ignore)

    def of_llm(self, settings: Settings) -> OpenAIServer | None:
        """The server of the language model, where it is not Ollama: the process of a GGUF file, or that of llm_url."""
        if not settings.llm.casefold().endswith(".gguf"):
            return self.openai(settings, "llm_url")
        from ragscience.models.gguf_server import GgufServer

        def make(_: Warn) -> GgufServer:
            return GgufServer(
                Path(settings.llm).expanduser(),
                context=settings.num_ctx,
                memory_mb=settings.llm_memory_mb,
                start_seconds=settings.llm_first_token_s,
                timeout_seconds=settings.llm_timeout_seconds,
            )

        return self._made.get(("gguf", settings.llm, settings.num_ctx, settings.llm_memory_mb), make, _ignore)

    def all_openai(self, settings: Settings) -> Sequence[OpenAIServer]:
        """The clients of the servers with OpenAI's API that are set. Raises UsageError for a key that cannot be."""
        names: tuple[UrlSetting, ...] = ("llm_url", "embed_url")
        return [server for name in names if (server := self.openai(settings, name)) is not None]

    def forget(self, settings: Settings, name: UrlSetting) -> None:
        """Ask Ollama, and the server of the setting `name`, for their state again."""
        self._made.forget(_ollama_key(settings))
        self._made.forget(_openai_key(settings, name))

    @staticmethod
    def deciding(settings: Settings) -> tuple[Hashable, ...]:
        """What decides the clients, and so the models behind them."""
        return (_ollama_key(settings), _openai_key(settings, "llm_url"), _openai_key(settings, "embed_url"))


def _ollama_key(settings: Settings) -> tuple[str, str, float, float, bool]:
    connect, timeout = settings.ollama_connect_seconds, settings.ollama_timeout_seconds
    return ("ollama", settings.ollama_url, connect, timeout, settings.offline)


def _openai_key(settings: Settings, name: str) -> tuple[str, str, str, float, float, bool]:
    connect, timeout = settings.llm_connect_seconds, settings.llm_timeout_seconds
    return ("openai", name, getattr(settings, name), connect, timeout, settings.offline)


def _ignore(_: str) -> None:
    """Clients make no warnings."""
