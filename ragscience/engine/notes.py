"""Papers and conversations as notes in a folder of Markdown files: one each, with links to pages and to each other."""

import os
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from urllib.parse import quote

from ragscience.core.errors import UsageError
from ragscience.core.paper_records import PLACE, has_pages, note_text, place_label
from ragscience.core.records import NOTE, Mark, Paper, title_of
from ragscience.engine.library_engine import Engine
from ragscience.engine.managed_notes import NoteDamaged, Value, ids_in, new_note, rewritten
from ragscience.engine.places import Source
from ragscience.engine.printable import one_line, write_out
from ragscience.engine.saved_answers import Conversation, KeptAnswer, as_markdown, line_of, quoted
from ragscience.graph.citing import Citations
from ragscience.library.atomic_files import disk_errors
from ragscience.sources.bib_entries import citation_keys

_PAPERS, _CONVERSATIONS = "papers", "conversations"
"""The folders of the notes."""
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\/:*?\"<>|#^\[\]%]+")
"""Characters that a file's name cannot have on some system, or a link to a note cannot."""
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names that Windows keeps for devices."""
_NAME_BYTES = 120
_NO_TAG = re.compile(r"[\s!-,.:-@\[-^`{-~]+")
"""What a tag of Obsidian's cannot have."""
_MOST_QUOTES = 3
"""Of a paper for one question: the conversation has the others."""
_LINKED = "zotero://open-pdf/"


Left = list[tuple[Path, str]]
"""Notes that were left as they are, and why."""


class NoteExport:
    """The library and the saved conversations as notes in one folder."""

    def __init__(self, engine: Engine, folder: Path, *, wiki: bool) -> None:
        """With `wiki` links between notes and tags are as Obsidian has them. Raises UsageError without a folder."""
        self._engine, self._root, self._wiki = engine, folder.expanduser().resolve(), wiki
        if not (self._root.is_dir() or (self._root.parent.is_dir() and not self._root.exists())):
            raise UsageError(f"There is no folder {folder}.", "Name a folder, or a new one in a folder that is there.")
        self._left: Left = []
        self._there: dict[str, Path] = {}
        """The notes of ours that are in the folder, by what they are about."""
        self._scan()
        self._taken = {_folded(path) for path in self._there.values()}
        self._stems = Counter(_folded(Path(path.name)) for path in self._files())

    def write(self) -> tuple[Counter[str], Left]:
        """Write what is new or has changed: how many were "made", "changed", "same" or "left", and which were left.

        Raises DiskProblem where a note cannot be written.
        """
        history = self._engine.history
        every = (history.conversation(one.conversation_id) for one in reversed(history.conversations()))
        talks = [(one, turns) for one, turns in every if turns]
        self._library = self._engine.library
        papers = sorted(self._engine.papers.list(), key=lambda paper: paper.paper_id)
        self._keys = citation_keys(papers)
        self._cites = [(one.citing, one.cited) for one in Citations.of(self._library).all]
        place = self._place
        self._of_paper = {one.paper_id: place(_PAPERS, self._keys[one.paper_id], _paper_ids(one)) for one in papers}
        named = ((one.conversation_id, one.name or one.title, _talk_ids(turns)) for one, turns in talks)
        self._of_talk = {number: place(_CONVERSATIONS, name, ids) for number, name, ids in named}
        self._papers = {key: paper for paper in papers for key in (paper.file, paper.path, paper.md5)}
        asked: defaultdict[int, list[KeptAnswer]] = defaultdict(list)
        for _, turns in talks:
            for kept in turns:
                for cited in {paper.paper_id for one in kept.answer.citations if (paper := self._paper(one))}:
                    asked[cited].append(kept)
        done = Counter(self._write_paper(paper, asked[paper.paper_id]) for paper in papers)
        return done + Counter(self._write_talk(one, turns) for one, turns in talks), self._left

    def _files(self) -> Iterator[Path]:
        """The notes in the folder, those in hidden folders left out."""
        for folder, folders, files in os.walk(self._root):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            yield from (Path(folder) / name for name in sorted(files) if name.endswith(".md"))

    def _scan(self) -> None:
        ours = (_PAPERS, _CONVERSATIONS)
        for path in sorted(self._files(), key=lambda path: path.parent.name not in ours):  # before copies elsewhere
            try:
                ids = ids_in(path.read_bytes().decode())
            except (OSError, UnicodeDecodeError):
                continue  # whatever it is: none that is overwritten
            known = next((self._there[one] for one in ids if one in self._there), None)
            if known is not None:
                self._left.append((path, f"it has the marks of {known.relative_to(self._root)}"))
                continue
            self._there.update(dict.fromkeys(ids, path))

    def _place(self, folder: str, name: str, ids: Sequence[str]) -> Path:
        """Where the note about `ids` is, or is to be."""
        for one in ids:
            if one in self._there:
                return self._there[one]
        stem = safe_name(name)
        names = (self._root / folder / f"{stem}{'' if number == 1 else f'-{number}'}.md" for number in count(1))
        path = next(path for path in names if _folded(path) not in self._taken)
        self._taken.add(_folded(path))
        self._stems[_folded(Path(path.name))] += not path.exists()
        return path

    def _written(self, path: Path, ids: Sequence[str], fields: Mapping[str, Value], blocks: Mapping[str, str]) -> str:
        """What was done."""
        fields = {name: _flat(value) for name, value in fields.items()}
        try:
            text = path.read_bytes().decode() if os.path.lexists(path) else ""
            if text and not ids_in(text):
                raise NoteDamaged("it has no mark of ours: rename it, and the export makes a note beside it")
            new = rewritten(text, ids, fields, blocks) if text else new_note(ids, fields, blocks)
        except (NoteDamaged, UnicodeDecodeError, OSError) as error:
            why = str(error) if isinstance(error, NoteDamaged) else "it cannot be read, or is not in UTF-8"
            self._left.append((path, why))
            return "left"
        if new == text:
            return "same"
        with disk_errors(path.parent):
            path.parent.mkdir(parents=True, exist_ok=True)
        write_out(path, new)
        return "changed" if text else "made"

    # What is in a note

    def _write_paper(self, paper: Paper, asked: Sequence[KeptAnswer]) -> str:
        known, path = paper.metadata, self._of_paper[paper.paper_id]
        fields: dict[str, Value] = {
            "citekey": self._keys[paper.paper_id], "title": title_of(paper), "authors": known.authors,
            "year": known.year, "venue": known.venue, "doi": known.doi, "arxiv": known.arxiv_id,
            "type": known.item_type or known.kind, "collections": known.collections, "zotero": known.link,
            "file": paper.file, "tags": self._tags(known.tags),
        }  # fmt: skip
        by = f"{', '.join(known.authors)}{f' ({known.year})' if known.year else ''}"
        targets = {
            "DOI": known.doi and f"https://doi.org/{known.doi}",
            "arXiv": known.arxiv_id and f"https://arxiv.org/abs/{known.arxiv_id}",
            "PDF": self._page(paper, 1),
        }
        links = " · ".join(_link(name, target) for name, target in targets.items() if target)
        about = ". ".join(filter(None, (line_of(by), line_of(known.venue), links)))
        abstract = line_of(self._engine.papers.abstract(paper, only=True))
        parts = (f"# {line_of(title_of(paper) or paper.file)}", about, abstract and f"## Abstract\n\n{abstract}")
        marks, answers = [*self._marks(paper)], [self._question(paper, path, kept) for kept in asked]
        blocks = {
            "paper": "\n\n".join(filter(None, parts)),
            "marks": "\n".join(["## Marked\n", *marks] if marks else []),
            "questions": "\n".join(["## Asked\n", *answers] if answers else []),
            "citations": "\n\n".join(self._citations(paper, path)),
        }
        return self._written(path, _paper_ids(paper), fields, blocks)

    def _write_talk(self, talk: Conversation, turns: Sequence[KeptAnswer]) -> str:
        path, title = self._of_talk[talk.conversation_id], talk.name or talk.title
        fields: dict[str, Value] = {"title": title, "started": talk.started_at[:10], "questions": len(turns)}

        def where(source: Source) -> str:
            paper = next(filter(None, map(self._paper, source.citations)), None)
            if paper is None:
                return f"{line_of(source.file)}, {place_label(source.file, source.page)}"
            note = self._note_link(path, self._of_paper[paper.paper_id], source.file)
            return f"{note}, {_link(place_label(source.file, source.page), self._page(paper, source.page))}"

        return self._written(path, _talk_ids(turns), fields, {"conversation": as_markdown(title, turns, where)})

    def _question(self, paper: Paper, path: Path, kept: KeptAnswer) -> str:
        """A question about the paper, and what it quotes of it."""
        talk = self._note_link(path, self._of_talk[kept.conversation_id or 0], kept.created_at[:10])
        answer = kept.answer
        shown = [one for block in answer.blocks if not block.is_brief for one in block.citations]
        of_it = [one for one in (*shown, *answer.citations) if self._paper(one) == paper]
        cited = of_it[: min(_MOST_QUOTES, len([one for one in of_it if one in shown]) or _MOST_QUOTES)]
        pages = [_link(_at(paper, one.page), self._page(paper, one.page)) for one in cited]
        quotes = dict.fromkeys(f"{quoted(one)} ({page})".strip() for one, page in zip(cited, pages, strict=True))
        return "\n".join([f"- {line_of(answer.question)} ({talk})", *(f"  - {one}" for one in quotes)])

    def _citations(self, paper: Paper, path: Path) -> Iterator[str]:
        """Links to the notes of the papers that it cites, and of those that cite it."""
        cited = [other for one, other in self._cites if one.paper_id == paper.paper_id]
        citing = [one for one, other in self._cites if other.paper_id == paper.paper_id]
        for name, papers in (("Cites", cited), ("Cited by", citing)):
            links = [f"- {self._note_link(path, self._of_paper[one.paper_id], title_of(one))}" for one in papers]
            if links:
                yield "\n".join([f"## {name}\n", *links])

    def _marks(self, paper: Paper) -> Iterator[str]:
        """What the reader marked: in Zotero, with links; then what the file itself has."""
        source = self._library.sources.of(paper.md5)
        marks = [*source.marks] if source else []
        said = _joined(" ".join(f"{mark.text} {mark.comment}" for mark in marks))
        notes = [one for one in self._library.paper_chunks(paper.paper_id, notes=True) if one.kind == NOTE]
        new = (one for one in notes if not all(_joined(part) in said for part in one.text.split(" — ")))
        marks += [Mark(one.page_start, "", note_text(one)) for one in new]
        for mark in marks:
            words = " — ".join(filter(None, (mark.text and f"“{line_of(mark.text)}”", line_of(mark.comment))))
            yield f"- {_link(_at(paper, mark.page), mark.link or self._page(paper, mark.page))}: {words}"

    def _paper(self, cited: object) -> Paper | None:
        """The paper of a citation, where the library still has it."""
        names = (getattr(cited, name) for name in ("md5", "path", "file"))
        return next((self._papers[name] for name in names if name in self._papers), None)

    def _page(self, paper: Paper, page: int) -> str:
        """What opens a page: Zotero where it has the file, else the file; empty where neither does."""
        if paper.metadata.link.startswith(_LINKED):
            return f"{paper.metadata.link}?page={page}"
        path = Path(paper.path)
        return f"{path.as_uri()}#page={page}" if path.is_absolute() and path.is_file() else ""

    def _note_link(self, start: Path, target: Path, label: str) -> str:
        if self._wiki and self._stems[_folded(Path(target.name))] == 1 and not _UNSAFE.search(target.stem):
            return f"[[{target.stem}|{_UNSAFE.sub('-', one_line(label))}]]"
        return _link(label, Path(os.path.relpath(target, start.parent)).as_posix())

    def _tags(self, tags: Sequence[str]) -> Sequence[str]:
        if not self._wiki:
            return tags
        named = (_NO_TAG.sub("-", tag).strip("-/") for tag in tags)
        return tuple(f"_{name}" if name.isdecimal() else name for name in named if name)


def safe_name(text: str) -> str:
    """A name for a file on any system, and for a link to it."""
    flat = " ".join(unicodedata.normalize("NFC", _UNSAFE.sub("-", one_line(text))).split())
    name = flat.encode()[:_NAME_BYTES].decode("utf-8", "ignore").strip(" .-")
    return f"{name}_" if _RESERVED.fullmatch(name) else name or "note"


def _folded(path: Path) -> str:
    """What is the same for two names that some system takes for one."""
    return unicodedata.normalize("NFC", str(path)).casefold()


def _paper_ids(paper: Paper) -> tuple[str, ...]:
    link = paper.metadata.link.removeprefix(_LINKED)
    return tuple(filter(None, (re.sub(r"[^\w-]", "-", link), paper.md5)))


def _talk_ids(turns: Sequence[KeptAnswer]) -> tuple[str, ...]:
    return (re.sub(r"[^\w-]", "-", turns[0].answer.answer_id),)


def _flat(value: Value) -> Value:
    """A field's texts, each on one line."""
    if isinstance(value, int | None):
        return value
    return one_line(value) if isinstance(value, str) else [*map(one_line, value)]


def _joined(text: str) -> str:
    return "".join(filter(str.isalnum, text)).casefold()


def _link(label: str, target: str) -> str:
    """A link of Markdown; the label alone without a target."""
    return f"[{line_of(label)}]({quote(target, safe='/:?=&#%@+,;~')})" if target else line_of(label)


def _at(paper: Paper, page: int) -> str:
    return f"{'p. ' if has_pages(paper.file) else PLACE}{page}"
