"""A process with a bucket of S3 (moto's) on loopback behind a server that fails; told what to do by lines.

A line of standard input is a JSON list: what to do, and with what. Each is answered by one line.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
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
    victims: list[int] = []

    def keys(prefix: str) -> list[str]:
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [row["Key"] for page in pages for row in page.get("Contents", ())]

    def clear(prefix: str) -> None:
        faulty.heal()
        if found := keys(prefix):
            client.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": key} for key in found]})

    def put(key: str, file: str) -> None:
        client.put_object(Bucket=BUCKET, Key=key, Body=Path(file).read_bytes())

    def copy(prefix: str, new: str) -> None:
        for key in keys(prefix):
            source = {"Bucket": BUCKET, "Key": key}
            client.copy_object(Bucket=BUCKET, Key=new + key.removeprefix(prefix), CopySource=source)

    def rename(key: str, new: str) -> None:
        copy(key, new)
        client.delete_object(Bucket=BUCKET, Key=key)

    def spoil(part: str, how: str, times: int) -> None:
        victims.clear()
        faulty.spoil(part, _how(how, victims), times)

    acts: dict[str, Callable[..., Any]] = {
        "url": lambda: faulty.url,
        "clear": clear,
        "put": put,
        "rename": rename,
        "copy": copy,
        "delete": lambda key: client.delete_object(Bucket=BUCKET, Key=key) and None,
        "victim": victims.append,
        "spoil": spoil,
        "heal": faulty.heal,
    }
    for line in sys.stdin:
        what, *given = json.loads(line)
        print(json.dumps(acts[what](*given)), flush=True)
    os._exit(0)  # its campaign was killed; threads would stay


def _how(how: str, victims: Sequence[int]) -> str | Callable[[bytes], bytes]:
    """What `FaultyS3.spoil` takes: a word of its own, or what becomes of a reply's bytes.

    "kill 7" kills the process that a "victim" named, once the seventh of the requests was done; "lost 7" does what the
    seventh asked for, and gives no reply.
    """
    kind, _, more = how.partition(" ")
    if kind == "other":
        content = Path(more).read_bytes()
        return lambda _: content
    if kind == "forget":
        return without(more)
    if kind == "slow":
        return _slow
    if kind == "lost":
        return _nth(int(more), _lose)
    return _nth(int(more), partial(_kill, victims)) if kind == "kill" else how


def _nth(count: int, act: Callable[[], None]) -> Callable[[bytes], bytes]:
    """Replies that stay as they are; `act` is called before that one."""
    left = iter(range(1, count + 1))

    def reply(content: bytes) -> bytes:
        if next(left, 0) == count:
            act()
        return content

    return reply


def _kill(pids: Sequence[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _lose() -> None:
    raise ConnectionAbortedError


def _slow(content: bytes) -> bytes:
    time.sleep(_SLOW_S)
    return content


if __name__ == "__main__":
    _served()
