"""A run with workers: where they are, how many fit, what they are told of the settings and of the library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ragscience.engine.events import OnEvent, Warned, WorkersStarted
from ragscience.engine.ingest_events import Preparing
from ragscience.engine.printable import counted
from ragscience.library.index_config import available_memory
from ragscience.library.paper_task import PaperJob, TaskOptions, made_by
from ragscience.library.store import text_hash
from ragscience.library.worker_processes import WORKER_BYTES, WorkerProcesses
from ragscience.models.bert_session import available_cores

if TYPE_CHECKING:
    from ragscience.core.settings import Settings
    from ragscience.library.ingestion import Plan
    from ragscience.library.store import Store
    from ragscience.library.task_window import PaperWorkers
    from ragscience.models.model_protocols import Embedder, TokenEmbedder

__all__ = ["open_workers", "task_options"]


def task_options(
    settings: Settings, embedder: Embedder, tokens: TokenEmbedder | None, *, ocr: str, batch: int
) -> TaskOptions:
    """What workers do; they embed with the built-in model only: a server is asked by this process, with its key."""
    options = TaskOptions(
        timeout_seconds=settings.reading_timeout_seconds,
        memory_bytes=settings.reading_memory_mb * 2**20,
        ocr=ocr,
        layout=settings.layout,
        chunk_size=settings.chunk_size,
        chunk_overlap=settings.chunk_overlap,
        separators=settings.separators,
        batch=batch,
        embeds=embedder.identity.provider == "embedded",
        tokens=tokens is not None,
        cache_folder=str(settings.chosen("cache_folder") or ""),
        made_by="",
    )
    return replace(options, made_by=made_by(options))


def open_workers(where: int | str, options: TaskOptions, library: Store, plan: Plan, on_event: OnEvent) -> PaperWorkers:
    """So many processes of this machine, or the workers of the Ray cluster at an address, for the files of the plan."""
    states = {state.path: state for state in plan.to_read}

    def job_of(path: Path) -> PaperJob:
        state, before = states[path], library.paper(path=str(path))
        known = library.paper_chunks(before.paper_id) if before else []
        hashes = frozenset(text_hash(chunk.searched) for chunk in known)
        return PaperJob(path, state.md5, state.size_bytes, library.sources.of(state.md5), hashes)

    if isinstance(where, str):
        from ragscience.library.ray_workers import RayWorkers

        on_event(Preparing("connecting to the Ray cluster"))
        cluster = RayWorkers(where, options, job_of)
        on_event(WorkersStarted(cluster.workers, address=where))
        return cluster
    workers = _fitting(min(where, len(states)), on_event)
    return WorkerProcesses(workers, options, job_of)


def _fitting(wanted: int, on_event: OnEvent) -> int:
    """As many processes as are wanted and have room in the memory that is free; at least one."""
    workers = max(1, min(wanted, (available_memory() or wanted * WORKER_BYTES) // WORKER_BYTES))
    on_event(WorkersStarted(workers, workers * WORKER_BYTES))
    if workers < wanted:
        on_event(Warned(f"There is no memory for {wanted} workers now."))
    if workers > available_cores():
        on_event(Warned(f"This machine has {counted(available_cores(), 'core')}: more workers gain nothing."))
    return workers
