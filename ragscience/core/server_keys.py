"""The key of a model server: from the environment or a file, never from the command line or config.toml."""

from __future__ import annotations

from pathlib import Path

from pydantic import SecretStr

from ragscience.core.errors import UsageError
from ragscience.core.setting_fields import Settings

__all__ = ["server_key"]

_LONGEST = 4096


def server_key(settings: Settings) -> SecretStr:
    """The key for the servers of llm_url and embed_url; empty where none is set. Raises UsageError, without the key."""
    key, place = settings.llm_key.get_secret_value().strip(), "RAG_LLM_KEY"
    if not key and settings.llm_key_file:
        path = Path(settings.llm_key_file).expanduser()
        place = str(path)
        try:
            with path.open(encoding="utf-8") as file:
                key = file.read(_LONGEST + 1).strip()
        except (OSError, UnicodeDecodeError) as error:
            why = getattr(error, "strerror", None) or "it is not UTF-8"
            raise UsageError(f"The key in {path} cannot be read: {why}.", "Correct RAG_LLM_KEY_FILE.") from None
        if not key:
            raise UsageError(f"{path} holds no key.", "Write the key into it, or unset RAG_LLM_KEY_FILE.")
    if len(key) > _LONGEST or not (key.isascii() and key.isprintable() and " " not in key if key else True):
        raise UsageError(
            f"What {place} holds is not a key: a key is one line of ASCII characters without blanks.",
            "Set it again, without quotes and line breaks.",
        )
    return SecretStr(key)
