"""`engine.ingest`: papers into the library, made again, and out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Literal

from ragscience.core.errors import FileProblem, NothingFound
from ragscience.core.records import Paper
from ragscience.core.tokenizing import counted, some_of
from ragscience.engine.events import IngestResult, Noted, OnEvent, PaperRemoved, Progressed, Warned, unheard
from ragscience.engine.fetch_runs import FetchRun
from ragscience.engine.ingest_pipeline import TokenRoom
from ragscience.engine.ingest_runs import IngestRun
from ragscience.engine.shared_parts import EMBEDDED, SharedParts, refuse_papers_in
from ragscience.engine.watch_runs import WatchRun
from ragscience.engine.zotero_run import BibRun, ZoteroRun
from ragscience.library.ingestion import Failure, IngestPlan, apply_renames, make_plan
from ragscience.library.seen_files import note_removed, removed
from ragscience.library.similarity import near_duplicates, without_older
from ragscience.library.store import DamagedDatabase, damage_of, put_aside, require_identity, text_hash
from ragscience.models.maxsim import EMBEDDING_BATCH, embed_batch
from ragscience.search.paper_lookup import find_papers
from ragscience.sources.bib_reading import read_bib
from ragscience.sources.zotero import narrowed, read_zotero
from ragscience.sources.zotero_folder import data_folder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ragscience.engine.events import FetchRequest, FetchResult, SyncPlan
    from ragscience.engine.fetch_runs import Choose
    from ragscience.library.similarity import Duplicate
    from ragscience.library.store import Home, Store
    from ragscience.models.model_protocols import Embedder

Part = Literal["embeddings", "indexes"]
"""What alone is made again; with either come the token vectors that are missing."""


class Ingest:
    """What changes the library; one run writes at a time."""

    def __init__(self, shared: SharedParts) -> None:
        self._shared = shared

    @contextmanager
    def _writing(self, on_event: OnEvent, cancel: Flag | None = None, workers: int | str = 0) -> Iterator[IngestRun]:
        """A run with the library open for writing. Raises LibraryBusy where another process or thread writes it."""
        with self._shared.writing() as library:
            for text in library.damage():  # the log's, which a writer empties
                on_event(Warned(text))
            yield IngestRun(library, self._shared, on_event, cancel=cancel, workers=workers)

    def add(
        self,
        paths: Sequence[str | Path] = (),
        *,
        workers: int | str = 0,
        on_event: OnEvent = unheard,
        cancel: Flag | None = None,
    ) -> IngestResult:
        """Read new and changed PDFs under `paths`, papers/ without any; `cancel` ends it after the paper in hand.

        So many `workers`, processes of one core each, read, cut and embed, or those of the Ray cluster at a HOST:PORT;
        without any this process embeds, on all cores. A script that asks for processes needs its
        `if __name__ == "__main__":`, as they import it. A file that cannot be read is a failure in the result. Raises
        RagScienceError where the library cannot be written or belongs to another model or other settings.
        """
        with self._writing(on_event, cancel, workers) as run:
            return run.add([Path(path) for path in paths])

    def sync(self, *, on_event: OnEvent = unheard, cancel: Flag | None = None) -> IngestResult:
        """Make the library what is on disk: read what is new or changed, remove what is gone. Raises as `add`."""
        with self._writing(on_event, cancel) as run:
            return run.sync()

    def sync_plan(self, *, on_event: OnEvent = unheard) -> SyncPlan:
        """What `sync` would do."""
        with self._writing(on_event) as run:
            return run.sync_plan()

    def remove(self, papers: Sequence[str], *, on_event: OnEvent = unheard) -> tuple[Paper, ...]:
        """Take out all papers that `papers` fit; their files stay, left out of later runs unless they are named.

        Raises NothingFound for a name that fits no paper.
        """
        with self._shared.writing() as library:
            found = find_papers(library, papers)
            _take_out(library, [(paper, "the file itself remains") for paper in found], on_event)
            return tuple(found)

    def keep_newest(self, *, on_event: OnEvent = unheard) -> tuple[Duplicate, ...]:
        """Take the older paper of each duplicate out, as `remove`; for each that went, the pair with a newer one."""
        with self._shared.writing() as library:
            pairs = without_older(near_duplicates(library.fingerprints()))
            papers = {paper.file: paper for paper in library.papers()}
            _take_out(library, [(papers[pair.older], pair.why) for pair in pairs], on_event)
            return tuple(pairs)

    def rebuild(
        self,
        only: Part | None = None,
        papers: Sequence[str] = (),
        *,
        workers: int | str = 0,
        on_event: OnEvent = unheard,
        cancel: Flag | None = None,
    ) -> IngestResult:
        """Read, cut and embed every paper again, or those that `papers` fit, or only make one part again.

        `workers` as for `add`. A database that is damaged as a whole is put aside, and every paper that it had is read
        again. Raises as `add`, and NothingFound for a name that fits no paper.
        """
        whole = not only and not papers
        lost = put_aside_if_damaged(self._shared.home, self._shared.settings.library, on_event) if whole else None
        if lost is not None:
            self._shared.close("library")
        with self._shared.writing() as library:
            run = RebuildRun(library, self._shared, on_event, cancel=cancel, workers=workers)
            return run.rebuild(only, papers) if lost is None else run.read_lost(lost)

    def fetch(
        self,
        request: FetchRequest,
        *,
        choose: Choose | None = None,
        on_event: OnEvent = unheard,
        cancel: Flag | None = None,
    ) -> FetchResult:
        """Papers from arXiv and from URLs into papers/ and the library; `choose` picks from what searches find.

        Raises UsageError offline and for a request without a meaning; other errors are in the result.
        """
        return FetchRun(self._shared, on_event, cancel).fetch(request, choose)

    def zotero(
        self,
        data: Path | None = None,
        *,
        collections: Sequence[str] = (),
        tags: Sequence[str] = (),
        on_event: OnEvent = unheard,
        cancel: Flag | None = None,
    ) -> IngestResult:
        """Read the papers that Zotero has, where they are, and follow what changes there; nothing of it is written.

        `data` is Zotero's data folder; None: where this machine's profiles say. With `collections` or `tags` only their
        papers are read. Raises NothingFound without a database or with nothing in it that fits, RagScienceError for a
        database that cannot be read.
        """
        refuse_papers_in(self._shared.settings)
        found = read_zotero(data_folder(data))
        wanted = narrowed(found.attachments, collections, tags)
        if (collections or tags) and not wanted:
            names = sorted(
                {name for one in found.attachments for name in (*one.metadata.collections, *one.metadata.tags)}
            )
            raise NothingFound("No paper in Zotero has that collection or tag.", f"There are {some_of(names, 10)}.")
        with self._shared.writing() as library:
            run = ZoteroRun(library, self._shared, on_event, cancel=cancel)
            return run.follow(found, wanted)

    def bib(
        self, path: Path, files: Path | None = None, *, on_event: OnEvent = unheard, cancel: Flag | None = None
    ) -> IngestResult:
        """Give papers the keys and fields of a .bib file, and read the PDFs that its entries name.

        `files` is where those with relative paths are, if not beside it. Raises UsageError for a file that cannot be
        read, NothingFound for one without entries.
        """
        refuse_papers_in(self._shared.settings)
        found = read_bib(path)
        with self._shared.writing() as library:
            return BibRun(library, self._shared, on_event, cancel=cancel).join(found, files)

    def watch(self, folder: Path | None = None, *, on_event: OnEvent = unheard, cancel: Flag | None = None) -> None:
        """Follow a folder, papers/ without one, until `cancel` is set. Raises UsageError if it does not exist."""
        WatchRun(self._shared, on_event, cancel or Flag()).watch(folder)


def _take_out(library: Store, going: Sequence[tuple[Paper, str]], on_event: OnEvent) -> None:
    """Remove papers, each for a reason; their files are left out from now on."""
    if not going:
        return
    # Before, so that a run that is killed in between leaves nothing that the next ingest would undo.
    note_removed(library, [paper for paper, _ in going])
    library.remove_papers([paper.paper_id for paper, _ in going])
    library.refresh_indexes()
    for paper, why in going:
        on_event(PaperRemoved(paper, why))


class RebuildRun(IngestRun):
    """A library that is open for writing, to be made again."""

    def rebuild(self, only: Part | None = None, papers: Sequence[str] = ()) -> IngestResult:
        """Read, cut and embed every paper again, or those that `papers` fit; or only make one part again.

        A file that is gone leaves its paper as it is; vectors are replaced all or none. Raises NothingFound for a name
        that fits no paper.
        """
        if papers:
            return self._read_named(papers)
        if only is None:
            return self._read_again()
        if only == "embeddings":
            self._replace_vectors(self._models.embedder(self._settings, None))
        self._rebuild_indexes()
        result = self._result(IngestPlan(()), None)
        for text in self.library.damage():
            self._warn(text)
        return result

    def read_lost(self, lost: DamagedDatabase) -> IngestResult:
        """Read all papers again that a database had which was put aside."""
        papers = self.library.home.papers
        lost.carry_over(self.library)
        return self.add([papers, *(path for path in lost.files if path.exists() and papers not in path.parents)])

    def _read_named(self, names: Sequence[str]) -> IngestResult:
        library = self.library
        embedder = self._models.embedder(self._settings, library.about.embedder)
        require_identity(library, embedder.identity, self._chunker)
        plan = self._plan(find_papers(library, names))
        return self._result(plan, self._run(plan, embedder))

    def _read_again(self) -> IngestResult:
        library, embedder = self.library, self._models.embedder(self._settings, None)
        if library.about.embedder is not None and library.about.embedder != embedder.identity:
            self._replace_vectors(embedder)
        # A paper follows its bytes first: two files may have changed places. What is in its old place now is read, too.
        paths = [Path(paper.path) for paper in library.papers()]
        moves = make_plan(library, paths, where=self._files)
        apply_renames(library, moves)
        plan = self._plan(library.papers())
        gone = removed(library)
        left = [state for state in moves.to_read if state.md5 not in gone and not library.paper(path=str(state.path))]
        plan = replace(plan, to_read=(*plan.to_read, *left))
        pipeline = self._run(plan, embedder)
        read = len(pipeline.added) + len(pipeline.updated)
        if not plan.failures and read == len(plan.to_read) == library.about.papers:
            library.set_identity(embedder.identity, self._chunker)
        self._rebuild_indexes()
        return self._result(plan, pipeline)

    def _plan(self, papers: Sequence[Paper]) -> IngestPlan:
        """Read these papers again, as far as their files are there."""
        states, failures = [], []
        for paper in papers:
            if self._files.is_gone(Path(paper.path)):
                text = f"{paper.file} is kept as it was: its file is gone (`python ingest.py sync` removes it)"
                self._on_event(Warned(text))
                continue
            try:
                state = self._files.state(Path(paper.path), (paper.md5,))
            except FileProblem as problem:
                failures.append(Failure(Path(paper.path), problem))
                continue
            other = self.library.paper(md5=state.md5) if state.md5 != paper.md5 else None
            if other is not None:
                text = f"{paper.file} is kept as it was: its file has the bytes of {other.file} now"
                self._on_event(Warned(f"{text} (`python ingest.py sync` follows files)"))
                continue
            states.append(state)
        return IngestPlan(tuple(states), failures=tuple(failures))

    def _rebuild_indexes(self) -> None:
        self._make_tokens()
        self.library.refresh_indexes(anew=True)
        self._on_event(Noted(f"search indexes rebuilt: {counted(self.library.about.chunks, 'passage')}"))

    def _replace_vectors(self, embedder: Embedder) -> None:
        library = self.library
        total = library.about.chunks
        source = self._models.ingest_tokens(self._settings, embedder, self._warn)
        # Token vectors are of one model: those of another embedder stay, and what they lack is made afterwards.
        source = source if source is embedder else None
        room = TokenRoom(0)

        def batches() -> Iterator[tuple[Sequence[int], NDArray[np.float32], dict[bytes, NDArray[np.uint8]]]]:
            done = 0
            for ids, texts in library.texts(EMBEDDING_BATCH):
                vectors, tokens = embed_batch(embedder, source, texts)
                yield ids, vectors, room.fitting(_by_hash(texts, tokens))
                done += len(ids)
                self._on_event(Progressed("embedding passage", done, total))

        library.vectors.replace(embedder.identity, batches())

    def _make_tokens(self) -> None:
        """Make the token vectors that are lost, damaged or were not kept, up to the size limit."""
        library, settings = self.library, self._settings
        embedder = self._models.embedder(settings, library.about.embedder)
        source = self._models.ingest_tokens(settings, embedder, self._warn)
        if source is None:
            return
        lost, unkept = library.tokens.missing()
        wanted, done = [*lost, *unkept], 0
        room = TokenRoom(library.tokens.size_bytes())
        for first in range(0, len(wanted), EMBEDDING_BATCH):
            chunks = library.chunks(wanted[first : first + EMBEDDING_BATCH])
            texts = [chunk.searched for chunk in chunks]
            library.tokens.put(room.fitting(_by_hash(texts, embed_batch(source, source, texts)[1])))
            done += len(chunks)
            self._on_event(Progressed("embedding passage", done, len(wanted)))


def _by_hash(texts: Sequence[str], tokens: Sequence[NDArray[np.uint8]]) -> dict[bytes, NDArray[np.uint8]]:
    """The token vectors by the hash of their text; none of `texts` without `tokens`."""
    return {text_hash(text): rows for text, rows in zip(texts, tokens, strict=False)}


def put_aside_if_damaged(home: Home, uri: str, on_event: OnEvent) -> DamagedDatabase | None:
    """What the database had where the library's damage is not of single papers; None where there is none of that.

    A database of the home is renamed, and stays beside the new one; so is a folder of LanceDB. Raises LibraryBusy
    while another process writes.
    """
    if uri != EMBEDDED:
        from ragscience.library.lance_store import put_lance_aside

        damage, left = put_lance_aside(home, uri) or (None, "")
    else:
        damage, left = damage_of(home), ""
    if damage is None:
        return None
    if uri == EMBEDDED and (kept := put_aside(home)) is not None:
        left = kept.name
    on_event(Warned(f"{damage.why} All papers are read again.{f' What is left is kept as {left}.' if left else ''}"))
    return damage
