"""`query.py history` and `query.py audit`: what was asked and answered before, and how each answer was made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragscience.cli import options as opt
from ragscience.cli.groups import make_app
from ragscience.cli.output import PROSE, console, facts, hand_over, local_time, paged, print_json, print_table, put
from ragscience.cli.running import SOME_FAILED, confirm, opened, say
from ragscience.core.errors import NothingFound, UsageError
from ragscience.core.paper_records import place_label
from ragscience.core.serialization import select
from ragscience.engine.printable import conversation_output, counted, one_line, plain, shortened, turns_output

if TYPE_CHECKING:
    from ragscience.engine.library_engine import Engine


SHOWN = 20
"""Default number of lines in a list."""
QUESTION_CHARS, SNIPPET_CHARS = 100, 160
Record = Mapping[str, Any]

history_app = make_app(
    "Show, search, export or delete earlier conversations.\n\nThey are saved in vectorstore/history.sqlite.",
    default="show",
    bare="list",
)


@history_app.command("list")
def list_history(run: opt.Run, limit: int | None = opt.LIMIT, json: bool = opt.JSON) -> int:
    """List the conversations, the latest first."""
    with opened(**run.flags()) as engine:
        return list_conversations(engine, limit=limit, as_json=json)


def list_conversations(engine: Engine, *, limit: int | None, as_json: bool) -> int:
    """The conversations, the one changed last first: `limit` of them, else all as JSON and SHOWN as a table."""
    every = engine.history.conversations()
    if as_json:
        shown_all = [conversation_output(item) for item in every[:limit]]
        return print_json(select("schema conversations", conversations=shown_all))
    shown = every[: limit or SHOWN]
    rows = [
        (str(one.conversation_id), local_time(one.changed_at), str(one.turns), one.name, one.title) for one in shown
    ]
    names = ("id", "changed", "turns", "name", "first question")
    with paged() as out:
        print_table(names, rows, out, wraps=names[3:])
    if not every:
        say("No conversations saved yet.")
    elif len(every) > len(shown):
        say(f"{len(every) - len(shown)} more: -n {len(every)} shows all.")
    return 0


@history_app.command("show", example="python query.py history show thesis")
def show_history(
    run: opt.Run, which: str | None = opt.WHICH, json: bool = opt.JSON, every: bool = opt.ALL_QUOTES
) -> int:
    """Show a conversation or one answer.

    Without an id: the last conversation.
    """
    from ragscience.cli.answer_view import answer_footer, answer_view

    with opened(**run.flags()) as engine:
        conversation, turns = engine.history.conversation(which)
    if json:
        return print_json(turns_output(conversation, turns))
    with paged() as out:
        name = f" {plain(conversation.name)}" if conversation.name else ""
        began = f"{counted(conversation.turns, 'turn')}, started {local_time(conversation.started_at)}"
        put(out, f"Conversation {conversation.conversation_id}{name}, {began}", style="dim")
        for kept in turns:
            out.print()
            put(out, plain(kept.answer.question), "> ", style="bold")
            answer_view(kept.answer, out, every=every)
            answer_footer(kept.answer, out, every=every)
            put(out, f"{local_time(kept.created_at)}  answer {plain(kept.answer.answer_id)}", style="dim")
    return 0


@history_app.command("search", example="python query.py history search overlap")
def search_kept(
    run: opt.Run,
    words: list[str] = opt.argument("WORD", "Words that must all be in question or answer."),
    limit: int | None = opt.LIMIT,
) -> None:
    """Search earlier questions and answers."""
    text = " ".join(words)
    with opened(**run.flags()) as engine:
        found = engine.history.search(text, limit or SHOWN)
    if not found:
        raise NothingFound(f"No question or answer has {text!r}.", "Try fewer words.")
    out = console()
    for kept in found:
        where = f"{kept.conversation_id}  {local_time(kept.created_at)}  answer {plain(kept.answer.answer_id)}"
        put(out, where, style="dim")
        put(out, shortened(kept.answer.question, QUESTION_CHARS), "> ", style="bold")
        put(out, shortened(kept.answer.text.replace("**", ""), QUESTION_CHARS), "  ")


@history_app.command("export", example="python query.py history export thesis -o thesis.md")
def export_history(
    run: opt.Run,
    which: str | None = opt.WHICH,
    bib: bool = opt.flag("--bib", "Instead write the cited papers as BibTeX."),
    cite: opt.Cites = opt.CITE,
    output: Path | None = opt.OUTPUT_FILE,
) -> None:
    """Write a conversation as Markdown, for example to a file.

    Without an id: the last one.
    """
    from ragscience.cli.source_views import cited_text
    from ragscience.engine.saved_answers import as_markdown

    with opened(**run.flags()) as engine:
        conversation, turns = engine.history.conversation(which)
        if bib:
            text = cited_text(engine, [kept.answer for kept in turns], csl=False)
        else:
            text = as_markdown(conversation.name or conversation.title, turns, cite=engine.papers.citing(cite))
    hand_over(text, output)


def export_notes(
    run: opt.Run,
    obsidian: Path | None = opt.option("--obsidian DIR", "A vault of Obsidian's, or a folder in one."),
    markdown: Path | None = opt.option("--markdown DIR", "A folder for plain Markdown."),
) -> int:
    """Write a note for each paper and each conversation, with links to pages and to each other.

    Add your own words where you like: the same command again rewrites only its own parts, which stand between marks.
    """
    from ragscience.engine.notes import NoteExport

    folder = obsidian or markdown
    if folder is None or (obsidian and markdown):
        raise UsageError("Say where the notes go.", "Give either --obsidian DIR or --markdown DIR.")
    with opened(**run.flags()) as engine:
        done, left = NoteExport(engine, folder, wiki=obsidian is not None).write()
    for path, why in left:
        say(f"left as it is: {path}: {why}")
    if not run.quiet:
        made = counted(done["made"], "new note")
        say(f"{made}, {done['changed']} changed, {done['same']} as they were; in {folder}.")
    return SOME_FAILED if left else 0


@history_app.command("delete")
def delete_history(
    run: opt.Run,
    which: str | None = opt.WHICH,
    everything: bool = opt.flag("--all", "Delete all conversations; asks first."),
    yes: bool = opt.YES,
) -> None:
    """Delete a conversation, one answer, or everything."""
    if (which is None) != everything:
        raise UsageError("Say what to delete: an id, or --all.", "`python query.py history list` shows the ids.")
    with opened(**run.flags()) as engine:
        if everything:
            confirm("Deleting every conversation cannot be undone.", yes=yes)
        gone = engine.history.delete(which)
    say(f"{counted(gone, 'turn')} deleted." if gone else "No conversations are saved now.")


# How answers were made


def audit(
    run: opt.Run,
    which: str | None = opt.argument("ID", "The start of an answer's id, or last.", None),
    delete_all: bool = opt.flag("--delete-all", "Delete the whole log; asks first."),
    yes: bool = opt.YES,
    limit: int | None = opt.LIMIT,
    json: bool = opt.flag("--json", "Print one JSON object for each answer (docs/audit.md)."),
) -> int:
    """Show how earlier answers were made.

    Without an id, the last answers are listed. `history delete` does not change this log; --delete-all deletes it.
    RAG_AUDIT=false turns it off.
    """
    if delete_all and (json or which is not None):
        raise UsageError("--delete-all deletes the whole log and shows nothing.", "Use it without other options.")
    with opened(**run.flags()) as engine:
        if delete_all:
            confirm("Deleting the whole audit log cannot be undone.", yes=yes)
            gone = engine.history.delete_audit()
            say(f"{counted(gone, 'audit record')} deleted." if gone else "The audit log has no answers.")
            return 0
        if which is None:
            return list_audited(engine, limit or SHOWN, as_json=json)
        return show_audited(engine, which, as_json=json)


def list_audited(engine: Engine, limit: int, *, as_json: bool) -> int:
    """The last answers, the newest first."""
    from ragscience.engine.saved_answers import AUDIT_SCHEMA_VERSION

    records = engine.history.audit(limit)
    if as_json:
        names = ("answer_id", "at", "question", "mode", "refused", "agent", "trace_id")
        listed = [{name: one.get(name) for name in names} | {"passages": len(one["passages"])} for one in records]
        return print_json({"schema": AUDIT_SCHEMA_VERSION, "answers": listed})
    rows = [
        (one["answer_id"], local_time(one["at"]), "refused" if one["refused"] else "", one["question"])
        for one in records
    ]
    with paged() as out:
        print_table(("answer", "when", "refused", "question"), rows, out, wraps=("question",))
    if not records:
        say("The audit log has no answers yet.")
    return 0


def show_audited(engine: Engine, start: str, *, as_json: bool) -> int:
    """All that was kept of one answer; as JSON, the object as it is kept."""
    record = engine.history.audit_record(start)
    if as_json:
        return print_json(record)
    with paged() as out:
        put(out, plain(record["question"]), "> ", style="bold")
        put(out, plain(record["answer"]) + "\n", width=PROSE)
        facts(_about(record), out)
        out.print()
        passages = [
            (str(item["rank"]), f"{item['file']}, {place_label(item['file'], item['page_start'], item['page_end'])}",
             ", ".join([*_numbers(item["scores"]), f"by {' + '.join(item['found_by'])}"]), _beginning(item, engine))
            for item in record["passages"]
        ]  # fmt: skip
        print_table(("", "passage", "scores", "text"), passages, out, wraps=("passage", "scores", "text"), joined=1)
        out.print()
        sentences = [
            (f"{item['verdict']} {item['score'] or 0.0:.2f}", shortened(item["text"], SNIPPET_CHARS))
            for item in record["sentences"]
        ]
        print_table(("verdict", "sentence"), sentences, out, wraps=("sentence",))
        for warning in record["warnings"]:
            put(out, one_line(warning), "warning: ", style="yellow")
    return 0


_APART = frozenset(("schema", "question", "answer", "passages", "sentences", "citations", "warnings", "trace"))
"""Fields of a record that are shown by themselves, or not."""


def _about(record: Record) -> Iterator[tuple[str, str]]:
    """Each other field of a record that has a value."""
    rows = ((name.replace("_", " "), _value(value)) for name, value in record.items() if name not in _APART)
    return ((name, value) for name, value in rows if value)


def _value(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {said}" for name, one in value.items() if (said := _value(one)))
    if isinstance(value, list):
        return ", ".join(map(_value, value))
    if isinstance(value, bool):
        return "yes" if value else ""
    return f"{value:.3g}" if isinstance(value, float) else shortened(str(value or ""), QUESTION_CHARS)


def _numbers(scores: Mapping[str, float | None]) -> list[str]:
    return [f"{name} {value:.3f}" for name, value in scores.items() if value is not None]


def _beginning(item: Record, engine: Engine) -> str:
    """How a passage begins, where the library still has it."""
    try:
        return shortened(engine.history.passage_text(item), SNIPPET_CHARS)
    except NothingFound as gone:
        return f"({gone.message})"
