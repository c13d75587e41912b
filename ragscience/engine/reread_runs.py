"""Runs that read papers again: all, or those of which Zotero, a .bib file or arXiv's HTML says something new."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ragscience.core.errors import FileProblem
from ragscience.core.records import Metadata, Paper
from ragscience.core.tokenizing import counted, some_of
from ragscience.engine.events import IngestResult, Noted, OnEvent, Progressed, Warned
from ragscience.engine.ingest_pipeline import TokenRoom
from ragscience.engine.ingest_runs import IngestRun
from ragscience.engine.shared_parts import EMBEDDED
from ragscience.library import ingestion, store
from ragscience.library.paper_rows import ONLY_FROM_OUTSIDE, FileSource
from ragscience.library.seen_files import removed
from ragscience.library.store import Home, known_files, text_hash
from ragscience.models.maxsim import EMBEDDING_BATCH, embed_batch
from ragscience.models.model_protocols import Embedder
from ragscience.search.paper_lookup import find_papers
from ragscience.sources.bib_reading import BibFile, joined
from ragscience.sources.zotero import Attachment, ZoteroLibrary

Part = Literal["embeddings", "indexes"]
"""What alone is made again; with either come the token vectors that are missing."""
_TO_READ = "to read again"
"""The kind of note on a paper whose source says something else than when the paper was read."""
ASKED = "asked for HTML"
"""The kind of note on a paper of which arXiv was asked for the HTML."""


class UnreadFiles(ingestion.LocalFiles):
    """Files on this machine; one of the size and time that the library knows is not opened."""

    def __init__(self, known: Mapping[str, tuple[int, int, str, int]]) -> None:
        """`known` has (size, mtime in ns, MD5, paper) by path."""
        self._known = known

    def state(self, path: Path, known: Collection[str] = ()) -> ingestion.FileState:
        """As `file_state`. Raises FileProblem."""
        del known
        size, modified, md5, _ = self._known.get(str(path), (-1, -1, "", 0))
        state = ingestion.FileState(path, md5, size, modified)
        return state if md5 and self.is_as(state) else ingestion.file_state(path)


class RereadRun(IngestRun):
    """A library that is open for writing, and papers that are to be read again or are described elsewhere."""

    # All again

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
        result = self._result(ingestion.IngestPlan(()), None)
        for text in self.library.damage():
            self._warn(text)
        return result

    def read_lost(self, lost: store.DamagedDatabase) -> IngestResult:
        """Read all papers again that a database had which was put aside."""
        papers = self.library.home.papers
        lost.carry_over(self.library)
        return self.add([papers, *(path for path in lost.files if path.exists() and papers not in path.parents)])

    def _read_named(self, names: Sequence[str]) -> IngestResult:
        library = self.library
        embedder = self._models.embedder(self._settings, library.about.embedder)
        store.require_identity(library, embedder.identity, self._chunker)
        plan = self._plan(find_papers(library, names))
        return self._result(plan, self._run(plan, embedder))

    def _read_again(self) -> IngestResult:
        library, embedder = self.library, self._models.embedder(self._settings, None)
        if library.about.embedder is not None and library.about.embedder != embedder.identity:
            self._replace_vectors(embedder)
        # A paper follows its bytes first: two files may have changed places. What is in its old place now is read, too.
        paths = [Path(paper.path) for paper in library.papers()]
        moves = ingestion.make_plan(library, paths, where=self._files)
        ingestion.apply_renames(library, moves)
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

    def _plan(self, papers: Sequence[Paper]) -> ingestion.IngestPlan:
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
                failures.append(ingestion.Failure(Path(paper.path), problem))
                continue
            other = self.library.paper(md5=state.md5) if state.md5 != paper.md5 else None
            if other is not None:
                text = f"{paper.file} is kept as it was: its file has the bytes of {other.file} now"
                self._on_event(Warned(f"{text} (`python ingest.py sync` follows files)"))
                continue
            states.append(state)
        return ingestion.IngestPlan(tuple(states), failures=tuple(failures))

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

    # Described elsewhere

    def follow_zotero(self, found: ZoteroLibrary, wanted: Sequence[Attachment]) -> IngestResult:
        """Read the `wanted` of what was found, as far as it is new or has changed; remove what is in Zotero's trash."""
        for text in found.warnings:
            self._warn(text)
        there = {one.path: one for one in wanted if one.path.is_file()}
        if lacking := [one.path.name for one in wanted if one.path not in there]:
            files = counted(len(lacking), "file of Zotero's is", "files of Zotero's are")
            self._warn(f"{files} not on this machine: {some_of(lacking)}.")
        plan = self._plan_of(there)
        moved = {paper.paper_id for paper, _ in plan.moved}
        gone = [
            paper
            for paper in self.library.papers()
            if paper.metadata.link in found.trashed
            or (paper.metadata.link and paper.paper_id not in moved and ingestion.LOCAL.is_gone(Path(paper.path)))
        ]
        self.take_out([(paper, "it is no longer in Zotero") for paper in gone])
        said = {path: FileSource("", one.metadata, one.marks) for path, one in there.items()}
        return self._read_described(said, plan)

    def join_bib(self, bib: BibFile, files: Path | None = None) -> IngestResult:
        """Give the papers that the entries are about their keys and fields, and read the PDFs that they name.

        Files with relative paths are in `files` or beside the .bib. What another source says of a paper stays where the
        entry says nothing.
        """
        for text in bib.warnings:
            self._warn(text)
        found, unfit = joined(bib.entries, self.library.papers(), [*filter(None, [files]), *bib.folders])
        if unfit:
            entries = counted(len(unfit), "entry is about no paper", "entries are about no paper")
            self._warn(f"{bib.path.name}: {entries} of the library and no file: {some_of(unfit)}.")
        papers = counted(len(found), "paper")
        self._on_event(Noted(f"{bib.path.name}: {counted(len(bib.entries), 'entry', 'entries')}, {papers} found"))
        plan = self._plan_of(found)
        kept = {source.md5: source for source in self.library.sources.all()}
        md5s = {state.path: state.md5 for state in plan.states}
        said = {path: _over(kept.get(md5s.get(path, "")), metadata) for path, metadata in found.items()}
        return self._read_described(said, plan)

    def take_formulas(self, found: Iterable[tuple[Paper, tuple[str, ...]]]) -> IngestResult:
        """Read the papers again of which formulas are found, with these; none are asked for twice."""
        library = self.library
        for paper, formulas in found:
            if formulas:
                source = library.sources.of(paper.md5) or FileSource(paper.md5, Metadata())
                library.note(_TO_READ, {paper.md5: "yes"})
                library.sources.put_all([replace(source, formulas=formulas)])
            library.note(ASKED, {paper.md5: "yes"})
        waiting = [paper.md5 for paper in library.papers() if paper.md5 in library.noted(_TO_READ)]
        result = self._read_named(waiting) if waiting else self._result(ingestion.IngestPlan(()), None)
        self._note_read(result)
        return result

    def _plan_of(self, paths: Collection[Path]) -> ingestion.IngestPlan:
        known = UnreadFiles(known_files(self.library))
        return ingestion.make_plan(self.library, paths, (), self._compared(len(paths)), known)

    def _read_described(self, said: Mapping[Path, FileSource], plan: ingestion.IngestPlan) -> IngestResult:
        """Store what is said of the files of a plan, and read what is new, or what is now described in other words.

        A run that is killed goes on where it was: what is to be read again is noted before.
        """
        library = self.library
        kept = {source.md5: source for source in library.sources.all()}
        by_md5: dict[str, FileSource] = {}
        for state in plan.states:
            if state.path in said:
                by_md5[state.md5] = _both(by_md5.get(state.md5), said[state.path])
        said_now = {
            md5: replace(one, md5=md5, formulas=kept[md5].formulas if md5 in kept else ())
            for md5, one in by_md5.items()
        }
        others = {md5: one for md5, one in said_now.items() if kept.get(md5) != one}
        there = {md5 for _, _, md5, _ in known_files(library).values()}
        again = [md5 for md5 in others.keys() & there if _is_read_anew(kept.get(md5), others[md5])]
        library.note(_TO_READ, dict.fromkeys(again, "yes"))
        if others:
            library.sources.put_all(others.values())
        waiting = library.noted(_TO_READ)
        later = [state for state in (*plan.unchanged, *(state for _, state in plan.moved)) if state.md5 in waiting]
        planned = {state.md5 for state in (*plan.to_read, *later)}
        copied = {state.md5: path for state, path in plan.copies if state.md5 in waiting.keys() - planned}
        later += [ingestion.file_state(Path(path)) for path in copied.values()]
        if later:
            papers = counted(len(later), "paper is", "papers are")
            self._on_event(Noted(f"{papers} described in other words, or marked, since the last time: read again"))
        result = self.carry_out(replace(plan, to_read=(*plan.to_read, *later)))
        self._note_read(result)
        return result

    def _note_read(self, result: IngestResult) -> None:
        read = {paper.md5 for paper in (*result.added, *result.updated)}
        self.library.note(_TO_READ, dict.fromkeys(self.library.noted(_TO_READ).keys() & read))


def _over(kept: FileSource | None, said: Metadata) -> FileSource:
    """What is said now, and what was said before where that says nothing; of collections and tags those of both."""
    if kept is None:
        return FileSource("", said)
    given = {field.name: value for field in fields(said) if (value := getattr(said, field.name))}
    return replace(kept, metadata=replace(kept.metadata, **given | _labels(kept.metadata, said)))


def _both(first: FileSource | None, second: FileSource) -> FileSource:
    """What two entries say of the same bytes: the first one's words, the collections, tags and marks of both."""
    if first is None:
        return second
    metadata = replace(first.metadata, **_labels(first.metadata, second.metadata))
    return replace(first, metadata=metadata, marks=tuple(dict.fromkeys((*first.marks, *second.marks))))


def _labels(first: Metadata, second: Metadata) -> dict[str, Any]:
    """The collections and tags of both, each once."""
    names = ("collections", "tags")
    return {name: tuple(dict.fromkeys((*getattr(first, name), *getattr(second, name)))) for name in names}


def _is_read_anew(kept: FileSource | None, said: FileSource) -> bool:
    """Whether what is said now changes the passages of the paper, and not its collections alone."""
    if kept is None:
        return True
    same = {name: getattr(said.metadata, name) for name in ONLY_FROM_OUTSIDE}
    return replace(kept, metadata=replace(kept.metadata, **same)) != said


def _by_hash(texts: Sequence[str], tokens: Sequence[NDArray[np.uint8]]) -> dict[bytes, NDArray[np.uint8]]:
    """The token vectors by the hash of their text; none of `texts` without `tokens`."""
    return {text_hash(text): rows for text, rows in zip(texts, tokens, strict=False)}


def put_aside_if_damaged(home: Home, uri: str, on_event: OnEvent) -> store.DamagedDatabase | None:
    """What the database had where the library's damage is not of single papers; None where there is none of that.

    A database of the home is renamed, and stays beside the new one; so is a folder of LanceDB. Raises LibraryBusy
    while another process writes.
    """
    if uri != EMBEDDED:
        from ragscience.library.lance_store import put_lance_aside

        damage, left = put_lance_aside(home, uri) or (None, "")
    else:
        damage, left = store.damage_of(home), ""
    if damage is None:
        return None
    if uri == EMBEDDED and (kept := store.put_aside(home)) is not None:
        left = kept.name
    on_event(Warned(f"{damage.why} All papers are read again.{f' What is left is kept as {left}.' if left else ''}"))
    return damage
