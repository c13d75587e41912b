"""The public papers and broken files that some tests read; they are no part of the repository."""

import ast
import fcntl
import hashlib
import os
import shutil
from functools import cache
from importlib.metadata import version
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from ragscience.core.records import Document
from ragscience.reading.worker_pool import ReadingPool

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = Path(os.environ.get("RAG_TEST_DATA") or ROOT.parent / "shared" / "data")
KEPT = ROOT / ".pytest_cache" / "shared-papers"
AS_JSON = TypeAdapter(Document)

needs_shared_data = pytest.mark.skipif(not SHARED_DATA.is_dir(), reason=f"{SHARED_DATA} is not there (RAG_TEST_DATA)")


@cache
def shared_papers() -> dict[str, Document]:
    """All papers by the name of their file, in its order, each read once for every version of the reader."""
    return {path.name: document for path, document in _read(sorted((SHARED_DATA / "papers").glob("*.pdf"))).items()}


@cache
def shared_paper(name: str) -> Document:
    """One paper, by its place in `SHARED_DATA`, read once as well."""
    (document,) = _read([SHARED_DATA / name]).values()
    return document


def _read(paths: list[Path]) -> dict[Path, Document]:
    """By workers, whom no coverage slows down."""
    folder = KEPT / _reader_version()
    folder.mkdir(parents=True, exist_ok=True)
    kept = {path: folder / f"{hashlib.md5(path.read_bytes()).hexdigest()}.json" for path in paths}
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if missing := [path for path in paths if not kept[path].exists()]:
            for older in KEPT.iterdir():
                if older != folder:
                    shutil.rmtree(older, ignore_errors=True)
            with ReadingPool(2, 60, 1 << 30) as pool:
                for path, document in pool.read_all(missing):
                    assert isinstance(document, Document), document
                    new = kept[path].with_suffix(".new")
                    new.write_bytes(AS_JSON.dump_json(document))
                    new.replace(kept[path])
    return {path: AS_JSON.validate_json(kept[path].read_bytes()) for path in paths}


@cache
def _reader_version() -> str:
    """A digest of the modules that reading a PDF takes, and of the library that it takes them from."""
    found, waiting = set(), {ROOT / "ragscience" / "reading" / name for name in ("worker.py", "worker_pool.py")}
    while waiting:
        module = waiting.pop()
        found.add(module)
        for node in ast.walk(ast.parse(module.read_bytes())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                base = ROOT.joinpath(*name.split("."))
                waiting |= {path for path in (base.with_suffix(".py"), base / "__init__.py") if path.exists()} - found
    sources = b"".join(path.read_bytes() for path in sorted(found))
    return hashlib.md5(sources + version("pymupdf").encode()).hexdigest()
