"""Earlier questions and answers: conversations, also as Markdown, and the audit record of each answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ragscience.core.errors import NothingFound
from ragscience.core.paper_records import place_label
from ragscience.core.records import UNCITED, Answer, Citation, Sentence
from ragscience.core.sentences import formulas_named
from ragscience.engine.events import Warned
from ragscience.engine.places import Cite, Source, cited_by, sources_of
from ragscience.engine.printable import plain
from ragscience.engine.shared_parts import SharedParts
from ragscience.library.history import Conversation, History, KeptAnswer
from ragscience.library.history_database import AUDIT_SCHEMA_VERSION

__all__ = ["AUDIT_SCHEMA_VERSION", "Conversation", "KeptAnswer", "SavedAnswers"]

LAST = "last"
"""In place of the id of an answer or conversation: the last one."""


class SavedAnswers:
    """Reading and deleting those of one person; `Engine.ask` writes. Each call opens the file again."""

    def __init__(self, shared: SharedParts, person: str = "") -> None:
        self._shared = shared
        self._path = shared.home.history_of(person)

    def for_person(self, name: str) -> SavedAnswers:
        """Those of a person whom the library is served to; empty: of the library's own user."""
        return SavedAnswers(self._shared, name)

    @contextmanager
    def _reading(self) -> Iterator[History]:
        with History.open(self._path) as history:
            try:
                yield history
            finally:
                if history.damage:
                    self._shared.publish(Warned(history.damage))

    def conversations(self) -> list[Conversation]:
        """All conversations, the one changed last first."""
        with self._reading() as history:
            return history.conversations()

    def conversation(self, key: str | int | None = None) -> tuple[Conversation, list[KeptAnswer]]:
        """The conversation of that name or number with its turns, or with the one answer whose id begins so.

        An int is only a conversation's number. Without a key, or for LAST, it is the last one. Raises NothingFound.
        """
        with self._reading() as history:
            found = history.last() if key in (None, LAST) else history.find(key or 0)
            if found is None:
                raise NothingFound("No conversations saved yet.", 'Ask something: python query.py "…"')
            if isinstance(found, Conversation):
                return found, history.turns(found.conversation_id)
            conversation = history.find(found.conversation_id or 0)
            assert isinstance(conversation, Conversation)  # noqa: S101 - for the type: a number finds nothing else
            return conversation, [found]

    def answer(self, answer_id: str = LAST) -> KeptAnswer:
        """The answer whose id begins with `answer_id`, or the last one. Raises NothingFound."""
        with self._reading() as history:
            kept = history.answer("" if answer_id == LAST else answer_id)
        if kept is None:
            which = "answer yet" if answer_id == LAST else f"answer {answer_id}"
            raise NothingFound(f"The history has no {which}.", "`python query.py history list` shows what it has.")
        return kept

    def search(self, text: str, limit: int) -> list[KeptAnswer]:
        """The turns that have every word of the text, the newest first."""
        with self._reading() as history:
            return history.search(text, limit)

    def questions(self, limit: int) -> list[str]:
        """The last `limit` questions of all conversations, the newest first; none where no history is kept."""
        if not self._shared.settings.history:
            return []
        with self._reading() as history:
            return history.questions(limit)

    def delete(self, key: str | int | None) -> int:
        """Delete a conversation, one answer, or for None everything; how many turns. Raises as `conversation`."""
        if key == LAST:
            key = self.conversation()[0].conversation_id
        with self._reading() as history:
            what = None if key is None else history.find(key)
            if what is None and history.last() is None:
                return 0
        with History.open_for_writing(self._path) as history:
            return history.delete(what)

    # Audit records

    def audit(self, limit: int) -> list[dict[str, Any]]:
        """The records of the last `limit` answers, the newest first."""
        with self._reading() as history:
            return history.audit(limit)

    def audit_record(self, start: str) -> dict[str, Any]:
        """The record of the answer whose id starts so. Raises NothingFound, or UsageError for several."""
        with self._reading() as history:
            if start == LAST:
                found = next(iter(history.audit(1)), None)
            else:
                found = history.audit_record(start.strip()) if start.strip() else None
        if found is None:
            last = "`python query.py audit` shows the last ones."
            raise NothingFound(f"The audit log has no answer {start!r}.", last)
        return found

    def delete_audit(self) -> int:
        """Delete every audit record; how many."""
        if not self._path.exists():
            return 0
        with History.open_for_writing(self._path) as history:
            return history.delete_audit()

    def passage_text(self, place: Mapping[str, Any]) -> str:
        """The text of a passage of an audit record. Raises NothingFound where the library no longer has it."""
        library = self._shared.library
        paper = library.paper(md5=place["md5"]) if place["md5"] else None
        if paper is None:
            raise NothingFound("This paper is no longer in the library.", "Add it again.")
        for chunk in library.paper_chunks(paper.paper_id, notes=True):
            if (chunk.start, chunk.end) == (place["start"], place["end"]):
                return chunk.text
        raise NothingFound("The library has the paper, and no longer this passage.", "The paper was read again since.")


MARKS = {"supported": "✓", "weak": "~", "unsupported": "✗"}
_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_LINK = re.compile(r"(?<!\\)(\\*+)(\](?=[(\[:])|(?<=!)\[|\[(?=\[))")
"""Where a link's text ends and its address begins, or where a picture or the name of another note does."""
_LABEL = re.compile(r"(?<![^\s(])#(?=\w)")
"""What some programs take for a tag."""


def as_markdown(
    title: str, turns: Sequence[KeptAnswer], where: Callable[[Source], str] | None = None, cite: Cite | None = None
) -> str:
    """Questions, answers with the mark of each checked sentence, and under each answer its pages with their quotes.

    The text of papers and models is made inert: no HTML, no links, no pictures that a viewer would fetch. `where` says
    what stands for a source, "file.pdf, p.3" without it, and `cite` how the text cites.
    """
    parts = [f"# {line_of(title)}\n"]
    for number, kept in enumerate(turns, start=1):
        answer = cited_by(kept.answer, cite) if cite else kept.answer
        parts.append(f"## {number}. {line_of(answer.question)}\n")
        marked_text = _marked(answer.text, answer.sentences) if answer.citations else answer.text
        parts.append(_inert(formulas_named(marked_text)) + "\n")  # an answer that an older version kept
        if answer.citations:
            parts.append("Sources:\n")
            marked = not _is_quotes(answer)
            parts += [_source(source, where or _place, marked=marked) for source in sources_of(answer)]
            parts.append("")
        if answer.sentences:
            parts.append(f"{_summary(answer)}\n")
        day, _, clock = kept.created_at.partition("T")
        parts.append(f"*{day} {clock[:5]} UTC, answer {line_of(answer.answer_id)}*\n")
    return "\n".join(parts)


def _marked(text: str, sentences: Sequence[Sentence]) -> str:
    """The answer with a mark behind each sentence that was checked; one that is not found in it stays unmarked."""
    done, rest = "", text
    for sentence in sentences:
        mark = MARKS.get(sentence.verdict)
        before, found, after = rest.partition(sentence.text) if sentence.text else (rest, "", "")
        if mark and found:
            done, rest = f"{done}{before}{found} {mark}", after
    return done + rest


def _summary(answer: Answer) -> str:
    if not answer.citations:
        return UNCITED
    claims = [sentence.verdict for sentence in answer.sentences if sentence.verdict in MARKS]
    if _is_quotes(answer):
        sure = f" Confidence: {answer.confidence}." if answer.confidence else ""
        return " ".join([f"Quotes, word for word.{sure}", *map(line_of, answer.missing)])
    said = [f"{claims.count(one)} {one} ({mark})" for one, mark in MARKS.items() if one in claims]
    return f"Checked: {', '.join(said) or 'nothing in it could be checked'}."


def _is_quotes(answer: Answer) -> bool:
    """Whether there are quotes and nothing that a model worded."""
    verdicts = {sentence.verdict for sentence in answer.sentences}
    return "quote" in verdicts and not verdicts & MARKS.keys()


def _place(source: Source) -> str:
    return f"{line_of(source.file)}, {place_label(source.file, source.page)}"


def _source(source: Source, where: Callable[[Source], str], *, marked: bool) -> str:
    """`1. file.pdf, p.3: “quote” ✓ “another quote” ✓`, with the number that it has under the answer."""
    quotes = " ".join(_quote(citation, marked=marked) for citation in dict.fromkeys(source.citations)).strip()
    says = f": {quotes}" if "“" in quotes else f" {quotes}" if quotes else ""
    return f"{source.number}. {where(source)}{says}"


def quoted(citation: Citation) -> str:
    """The quote in quotation marks, on one line of Markdown; empty without one."""
    quote = formulas_named(" ".join(citation.quote.split()), citation.page)
    return f"“{_inert(quote)}”" if quote else ""


def _quote(citation: Citation, *, marked: bool) -> str:
    said = quoted(citation)
    mark = MARKS["supported" if citation.supported else "unsupported"] if marked else ""
    return f"{said} {mark}".strip()


def _inert(text: str) -> str:
    text = _TAG.sub("&lt;", plain(text))
    text = _LINK.sub(lambda found: found[0] if len(found[1]) % 2 else rf"{found[1]}\{found[2]}", text)
    return _LABEL.sub(r"\\#", text)


def line_of(text: str) -> str:
    """The text on one line of Markdown, which does nothing there."""
    return " ".join(_inert(text).split())
