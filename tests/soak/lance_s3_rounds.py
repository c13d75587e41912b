"""Rounds on a library in LanceDB in a bucket of S3, whose server fails, and kills the process that asks it."""

from __future__ import annotations

from typing import ClassVar

from tests.s3_server import BUCKET, access
from tests.soak.lance_rounds import LanceRound
from tests.soak.served_rounds import ServedRound, server

_PLACE = "library/"


class LanceS3Round(ServedRound, LanceRound):
    """A round whose library is objects; the papers lie in the home."""

    kind = "lance-s3"
    server_faults = (
        ("PUT /lab/", "kill", 1000),
        ("PUT /lab/", "kill", 1000),
        ("PUT /lab/", "kill", 1000),
        ("/lab", "kill", 1000),
        ("PUT /lab/", "500 InternalError", 1),
        ("PUT /lab/", "500 InternalError", 1000),
        ("PUT /lab/", "503 SlowDown", 2),
        ("PUT /lab/", "close", 1),
        ("PUT /lab/", "close", 1000),
        ("PUT /lab/", "lost", 1000),
        ("PUT /lab/", "lost", 1000),
        ("_versions/", "lost", 1000),
        ("PUT /lab/", "slow", 3),
        ("GET /lab/", "500 InternalError", 1),
        ("GET /lab/", "503 SlowDown", 1000),
        ("GET /lab/", "close", 1),
        ("GET /lab/", "cut", 1),
        ("GET /lab/", "cut", 1000),
        ("GET /lab/", "slow", 3),
        ("list-type", "500 InternalError", 1),
        ("list-type", "cut", 1),
        ("/lab", "close", 4),
        ("/lab", "500 InternalError", 1000),
    )
    steps: ClassVar = {
        "ingest": 30,
        "remove": 8,
        "rebuild": 5,
        "graph": 3,
        "read": 10,
        "copy": 3,
        "two-writers": 5,
        "two-homes": 8,
        "serve": 3,
    }

    def environment(self) -> dict[str, str]:
        """The library's place; LanceDB gives a request up soon."""
        return {
            **access(server().url),
            "RAG_OFFLINE": "false",
            "RAG_OLLAMA_URL": "http://127.0.0.1:9",
            "RAG_LIBRARY": f"s3://{BUCKET}/{_PLACE.rstrip('/')}",
            "OBJECT_STORE_CLIENT_MAX_RETRIES": "2",
            "OBJECT_STORE_CLIENT_RETRY_TIMEOUT": "5",
        }

    def keep(self, base: str) -> None:
        """Also the library's objects."""
        server().tell("copy", _PLACE, f"{base}/")
        server().tell("clear", _PLACE)
        super().keep(base)

    def _begin(self, base: str) -> None:
        super()._begin(base)
        server().tell("clear", _PLACE)
        server().tell("copy", f"{base}/", _PLACE)
