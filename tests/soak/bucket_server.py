"""A process with a bucket of S3 (moto's) on loopback behind a server that fails; told what to do by lines.

A line of standard input is a JSON list: what to do, and with what. Each is answered by one line.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.s3_server import BUCKET, FaultyS3, client_of, moto_server, without

_SLOW_S = 0.4


class BucketServer:
    """The process, as the campaign sees it."""

    def __init__(self) -> None:
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.soak.bucket_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # it tells of each client that was killed
            text=True,
            env=environment,
            cwd=Path(__file__).parents[2],
        )
        self.url = str(self.tell("url"))

    def tell(self, *what: str | int) -> object:
        """Have it do something; what it answers."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.wait()


def _served() -> None:
    moto = moto_server()
    faulty = FaultyS3(moto.get_host_and_port())
    client = client_of("http://{}:{}".format(*moto.get_host_and_port()))
    client.create_bucket(Bucket=BUCKET)

    def clear() -> None:
        faulty.heal()
        for row in client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
            client.delete_object(Bucket=BUCKET, Key=row["Key"])

    def put(name: str, file: str) -> None:
        client.put_object(Bucket=BUCKET, Key=f"pdf/{name}", Body=Path(file).read_bytes())

    def rename(name: str, new: str) -> None:
        body = client.get_object(Bucket=BUCKET, Key=f"pdf/{name}")["Body"].read()
        client.put_object(Bucket=BUCKET, Key=f"pdf/{new}", Body=body)
        client.delete_object(Bucket=BUCKET, Key=f"pdf/{name}")

    def spoil(part: str, how: str, times: int) -> None:
        faulty.spoil(part, _how(how), times)

    acts: dict[str, Callable[..., Any]] = {
        "url": lambda: faulty.url,
        "clear": clear,
        "put": put,
        "rename": rename,
        "delete": lambda name: client.delete_object(Bucket=BUCKET, Key=f"pdf/{name}") and None,
        "spoil": spoil,
        "heal": faulty.heal,
    }
    for line in sys.stdin:
        what, *given = json.loads(line)
        print(json.dumps(acts[what](*given)), flush=True)


def _how(how: str) -> str | Callable[[bytes], bytes]:
    """What `FaultyS3.spoil` takes: a word of its own, or what becomes of a reply's bytes."""
    kind, _, more = how.partition(" ")
    if kind == "other":
        content = Path(more).read_bytes()
        return lambda _: content
    if kind == "forget":
        return without(more)
    if kind == "slow":
        return _slow
    return how


def _slow(content: bytes) -> bytes:
    time.sleep(_SLOW_S)
    return content


FAULTS: Sequence[tuple[str, str, int]] = (
    ("list-type", "500 InternalError", 1),
    ("list-type", "500 InternalError", 1000),
    ("list-type", "503 SlowDown", 2),
    ("list-type", "close", 1),
    ("list-type", "cut", 1),
    ("list-type", "cut", 1000),
    ("list-type", "slow", 3),
    ("GET /lab/pdf/", "500 InternalError", 1),
    ("GET /lab/pdf/", "503 SlowDown", 1000),
    ("GET /lab/pdf/", "close", 1),
    ("GET /lab/pdf/", "close", 1000),
    ("GET /lab/pdf/", "cut", 1),
    ("GET /lab/pdf/", "cut", 5),
    ("GET /lab/pdf/", "cut", 1000),
    ("GET /lab/pdf/", "slow", 3),
    ("GET /lab/pdf/", "404 NoSuchKey", 1),
    ("HEAD /lab/pdf/", "500 InternalError", 1000),
    ("/lab", "close", 4),
    ("/lab", "500 InternalError", 1000),
)
"""Requests that hold the first text, what becomes of them, and how many; 1,000 are all of a command."""


if __name__ == "__main__":
    _served()
