"""Changes of a library in LanceDB: what they write is in no version that is named before the commit."""

import json
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from typing import Any

from ragscience.core.records import searched_text
from ragscience.core.serialization import storable
from ragscience.core.tokenizing import TOKENIZER_VERSION, tokenize
from ragscience.library import lance_snapshots as lance
from ragscience.library.changes import Change
from ragscience.library.dense_index import Codes, Matrix
from ragscience.library.lance_snapshots import LanceSnapshot, among, lance_errors
from ragscience.library.paper_contents import NewPaper, parts_of, passage_rows, row_of, text_hash
from ragscience.library.paper_rows import PaperRow
from ragscience.library.sealed_rows import LanceState

READABLE = timedelta(hours=1)
"""How long a version can still be read after the next one was committed."""
_NEVER = timedelta(days=36_500)
_OF_PAPER = ("paper_id", "path", "md5", "first_chunk", "chunks", "reference_lists", "row")
_OF_PASSAGE = ("paper_id", "row", "terms", "text_hash", "tokens")


class LanceChange(Change):
    """Changes of the tables that are committed together; what they make is in no version that is named before."""

    before: LanceSnapshot
    state: LanceState

    def __init__(self, database: Any, before: LanceSnapshot, root: str) -> None:
        self.before, self.state = before, before.state
        self._database, self._root = database, root
        self._tables: dict[str, tuple[Any, int]] = {}

    def add(self, role: str, columns: Mapping[str, Any]) -> None:
        """Add rows, and read the last of them: Lance may keep a file that was cut at a limit of the system."""

        def write(table: Any) -> None:
            table.add(rows)
            table.take_offsets([table.count_rows() - 1]).to_arrow()

        rows = lance.as_table(role, columns)
        if rows.num_rows:
            self._step(role, write)

    def delete(self, role: str, where: str) -> None:
        """Delete the rows that fit."""
        self._step(role, lambda table: table.delete(where))

    def optimize(self, role: str) -> None:
        """Compact a table and bring its indexes up to date."""
        table, version = self._table(role)
        with lance_errors(self.before.uri):
            count = table.count_rows()
            table.optimize(cleanup_older_than=_NEVER)
            self._require(int(table.version) >= version and table.count_rows() == count)
            self._made(role, self.state.tables[role][0], table, int(table.version))

    def insert(self, new: NewPaper) -> int:
        """As `Change.insert`."""
        state = self.state
        first, count = state.next_chunk, len(new.chunks)
        paper = row_of(new, state.next_paper, first, self._root)
        terms = [tokenize(chunk.searched) for chunk in new.chunks]
        hashes = [text_hash(chunk.searched) for chunk in new.chunks]
        kept: dict[bytes, bytes] = {}
        if count and self.before.state.chunks:
            where = among("text_hash", dict.fromkeys(hashes))
            kept = dict(self.before.rows("passages", ["text_hash", "tokens"], where))
        passages = {
            "chunk_id": [*range(first, first + count)],
            "paper_id": [paper.paper_id] * count,
            "row": [*passage_rows(new)],
            "terms": [" ".join(one) for one in terms],
            "text_hash": hashes,
            "tokens": [kept.get(key, b"") for key in hashes],
        }
        self.add_passages(passages, new.vectors, new.tokens or {})
        values = dict(zip(_OF_PAPER, (*paper.key, paper.content), strict=True)) | parts_of(new)
        self.add("papers", {name: [value] for name, value in values.items()})
        self.note(next_paper=paper.paper_id + 1, next_chunk=first + count, papers=state.papers + 1)
        self.note(chunks=state.chunks + count, terms=state.terms + sum(map(len, terms)))
        return paper.paper_id

    def add_passages(self, columns: Mapping[str, Any], vectors: Any, tokens: Mapping[bytes, Codes]) -> None:
        """Add passages; those whose texts are among `tokens` get these token vectors."""
        given = zip(columns["text_hash"], columns["tokens"], strict=True)
        codes = [tokens[key].tobytes() if key in tokens else kept for key, kept in given]
        if codes:
            sizes = [len(one) for one in codes]
            self.add("passages", {**columns, "vector": vectors, "tokens": codes, "token_bytes": sizes})

    def remove(self, paper_ids: Collection[int]) -> int:
        """As `Change.remove`."""
        at, state = self.before, self.state
        rows = [at.listing.rows[one] for one in dict.fromkeys(paper_ids) if one in at.listing.rows]
        if not rows:
            return 0
        where = among("paper_id", [row.paper_id for row in rows])
        spans = " OR ".join(f"chunk_id BETWEEN {row.span[0]} AND {row.span[1]}" for row in rows)
        is_read = at.columns("graph", ["chunk_id"], spans).num_rows > 0
        terms = sum(len(one.split()) for (one,) in at.rows("passages", ["terms"], where))
        for role in ("papers", "passages"):
            self.delete(role, where)
        if is_read:
            self.delete("graph", spans)
        self.note(papers=state.papers - len(rows), chunks=state.chunks - sum(row.chunks for row in rows))
        self.note(terms=state.terms - terms, graph_version=state.graph_version + is_read)
        return len(rows)

    def rename(self, rows: Sequence[PaperRow]) -> None:
        """As `Change.rename`."""
        now = {row.paper_id: {"path": row.path, "row": row.content} for row in rows}
        where = among("paper_id", now)
        found = self.before.columns("papers", self.before.table("papers").schema.names, where).to_pylist()
        if found:
            self.delete("papers", where)
            changed = [{**row, **now[row["paper_id"]]} for row in found]
            self.add("papers", {name: [row[name] for row in changed] for name in found[0]})

    def begin_vectors(self, dimension: int) -> None:
        """As `Change.begin_vectors`: the passages are written anew, into a table of their own."""
        name = f"passages_{uuid.uuid4().hex}"
        with lance_errors(self.before.uri):
            table = lance.make_table(self._database, "passages", name, dimension)
            self._made("passages", name, table, int(table.version))

    def put_vectors(self, ids: Sequence[int], vectors: Matrix, tokens: Mapping[bytes, Codes]) -> None:
        """As `Change.put_vectors`, after `begin_vectors`."""
        place = {one: number for number, one in enumerate(ids)}
        for found in self.before.passages(ids, _OF_PASSAGE):
            columns = {name: found[name].to_pylist() for name in found.column_names}
            self.add_passages(columns, vectors[[place[one] for one in columns["chunk_id"]]], tokens)

    def put_tokens(self, tokens: Mapping[bytes, Codes]) -> None:
        """Keep token vectors of texts that passages have."""
        if not (tokens and self.before.state.chunks):
            return
        where = among("text_hash", tokens)
        found = self.before.columns("passages", ["chunk_id", "vector", *_OF_PASSAGE], where)
        if found.num_rows:
            self.delete("passages", where)
            columns = {name: found[name].to_pylist() for name in ("chunk_id", *_OF_PASSAGE)}
            self.add_passages(columns, lance.vector_rows(found, self.state.dimension), tokens)

    def put_notes(self, kind: str, texts: Mapping[str, str | None]) -> None:
        """As `Change.put_notes`."""
        self.delete("notes", f"{among('kind', [kind])} AND {among('key', texts)}")
        kept = {key: storable(text) for key, text in texts.items() if text is not None}
        self.add("notes", {"kind": [kind] * len(kept), "key": [*kept], "text": [*kept.values()]})

    def put_sources(self, contents: Mapping[str, str]) -> None:
        """As `Change.put_sources`."""
        self.put_notes("source", contents)

    def put_graph(self, extractor: str, version: str, texts: Mapping[int, str]) -> None:
        """As `Change.put_graph`."""
        self.delete("graph", f"{among('chunk_id', texts)} AND {among('extractor', [extractor])}")
        made_by = {"extractor": [extractor] * len(texts), "version": [version] * len(texts)}
        self.add("graph", {"chunk_id": [*texts], **made_by, "text": [*texts.values()]})

    def delete_graph(self, extractor: str) -> None:
        """As `Change.delete_graph`."""
        self.delete("graph", among("extractor", [extractor]))

    def rewrite_passages(self) -> None:
        """Write the passages into a new table, with new terms and new indexes."""
        at, count = self.before, 0
        self.begin_vectors(at.state.dimension)
        for found in at.passages(at.listing.chunk_ids.tolist(), [*_OF_PASSAGE, "vector"]):
            columns = {name: found[name].to_pylist() for name in found.column_names if name != "vector"}
            texts = (json.loads(row) for row in columns["row"])
            terms = [tokenize(searched_text(fields[-1], fields[1])) for fields in texts]
            count += sum(map(len, terms))
            columns["terms"] = [" ".join(one) for one in terms]
            self.add_passages(columns, lance.vector_rows(found, at.state.dimension), {})
        self.note(terms=count, tokenizer=TOKENIZER_VERSION)

    def index_vectors(self, *, anew: bool) -> None:
        """Make Lance's index of the vectors, where there is none yet or it is to be made again."""
        from lancedb.index import IvfPq

        table, _ = self._table("passages")
        with lance_errors(self.before.uri):
            if not anew and any("vector" in index.columns for index in table.list_indices()):
                return
            count = table.count_rows()
            table.create_index("vector", config=IvfPq(distance_type="dot"))
            self._require(table.count_rows() == count)
            self._made("passages", self.state.tables["passages"][0], table, int(table.version))

    def _step(self, role: str, act: Callable[[Any], Any]) -> None:
        table, version = self._table(role)
        with lance_errors(self.before.uri):
            act(table)
            after = int(table.version)
        self._require(after in (version, version + 1))  # else it holds what another writer wrote
        self._made(role, self.state.tables[role][0], table, after)

    def _table(self, role: str) -> tuple[Any, int]:
        """A table that holds what its named version does, and its newest version."""
        if role not in self._tables:
            name, version = self.state.tables[role]
            with lance_errors(self.before.uri):
                table = self._database.open_table(name)
                newest = int(table.version)
                if newest != version:
                    table.checkout(version)
                    table.restore()
                    self._require(int(table.version) == newest + 1)
                self._made(role, name, table, int(table.version))
        return self._tables[role]

    def _made(self, role: str, name: str, table: Any, version: int) -> None:
        self._tables[role] = table, version
        self.note(tables={**self.state.tables, role: (name, version)})

    @staticmethod
    def _require(is_mine: bool) -> None:  # it reads as an assertion
        if not is_mine:
            raise lance.changed_meanwhile()

    def tidy(self) -> None:
        """Delete versions that no reader of the last hour can have opened; to be done after the commit."""
        with lance_errors(self.before.uri):
            for table, _ in self._tables.values():
                table.optimize(cleanup_older_than=READABLE)
