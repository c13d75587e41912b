"""Rounds with the papers in a bucket of S3 that fails, is slow, forgets objects and gives those of others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from tests.s3_server import BUCKET, access
from tests.soak.faults import Fault
from tests.soak.processes import CACHE_BYTES, Ran
from tests.soak.rounds import CALM, is_done
from tests.soak.served_rounds import ServedRound, server


class BucketRound(ServedRound):
    """A round whose papers are objects; each command may meet a fault of the server, a fault of its own, or both."""

    kind = "bucket"
    server_faults = (
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
    modules = ("botocore.session", "botocore.config", "botocore.httpsession", "ragscience.library.bucket")
    steps: ClassVar = {"ingest": 40, "remove": 8, "rebuild": 6, "read": 6, "forget": 12, "two-writers": 6, "cached": 8}

    def environment(self) -> dict[str, str]:
        """The bucket, and a small cache of its papers on the disk that fails."""
        return {
            **access(server().url),
            "RAG_OFFLINE": "false",
            "RAG_OLLAMA_URL": "http://127.0.0.1:9",
            "RAG_PAPERS": f"s3://{BUCKET}/pdf",
            "RAG_CACHE_FOLDER": str(self._cache),
        }

    @property
    def _cache(self) -> Path:
        """The folder of caches, in the home, where calls fail; the models in it are the usual ones."""
        folder = self.home / "cache"
        if not folder.exists():
            folder.mkdir(parents=True)
            for path in Path(os.environ["RAG_CACHE_FOLDER"]).iterdir():
                (folder / path.name).symlink_to(path)
        return folder

    def _begin(self, base: str) -> None:
        super()._begin(base)
        server().tell("clear", "pdf/")
        for name, md5 in self.state.disk.items():
            self.write_file(name, self.world.truths[md5].file)

    def write_file(self, name: str, source: Path) -> None:
        """An object of the bucket."""
        server().tell("put", f"pdf/{name}", str(source))

    def rename_file(self, name: str, new: str) -> None:
        """The same bytes under another name."""
        server().tell("rename", f"pdf/{name}", f"pdf/{new}")

    def delete_file(self, name: str) -> None:
        """Delete an object."""
        server().tell("delete", f"pdf/{name}")

    def may_leave(self, name: str) -> bool:
        """Some paper of the library stays: `sync` takes none out where none of them is left."""
        disk, held = self.state.disk, self.state.held
        left = [one for one in disk if one != name and disk[one] == held.get(one)]
        return bool(left) or not held

    def _command(self, script: str, *words: str, fault: Fault = CALM, codes: Sequence[int] = ()) -> Ran:
        """As usual; the cache of papers stays within its bound."""
        ran = super()._command(script, *words, fault=fault, codes=codes)
        sizes = {path.stat().st_ino: path.stat().st_size for path in (self._cache / "bucket_papers").rglob("*.pdf")}
        size = sum(sizes.values())
        if size > CACHE_BYTES and self._is_small:
            self.broken.append(f"the cache of papers holds {size} bytes")
        return ran

    def _forget(self) -> None:
        """A listing lacks an object, or the first download gives another one's bytes: nothing leaves the library."""
        self._change_files()
        held = sorted(self.state.disk)
        if not held:
            return
        before, goal = self.state.pairs, self.state.after_ingest(is_sync=True)
        name = self.dice.choice(held)
        if self.dice.random() < 0.5:
            # What it does not list is not read, but what is held of it stays.
            server().tell("spoil", "list-type", f"forget {name}", 1)
            self.told.append(f"the listing lacks {name}")
            goal = frozenset((file, md5) for file, md5 in goal if file != name)
            goal |= {(file, md5) for file, md5 in before if file == name}
        else:
            other = self.dice.choice(sorted(self.world.truths))
            server().tell("spoil", "GET /lab/pdf/", f"other {self.world.truths[other].file}", 1)
            self.told.append("a download gives another object's bytes")
        ran = super()._command("ingest.py", "sync")
        server().tell("heal")
        ways = [goal, self.state.after_ingest(is_sync=True)]
        self._settle(before, ways, is_reached_now=False)
        if not is_done(ran):
            self.broken.append(f"sync ended with {ran.code}")

    def _cached(self) -> None:
        """Papers of the cache are removed or damaged, and needed again."""
        how = self.dice.choice(["remove", "damage"])
        for path in sorted((self._cache / "bucket_papers").rglob("*.pdf")):
            if self.dice.random() < 0.5 and path.exists():
                if how == "remove":
                    shutil.rmtree(path.parent)
                else:
                    path.write_bytes(self.dice.randbytes(path.stat().st_size))
        self.told.append(f"{how} cached papers")
        self._rebuild()
