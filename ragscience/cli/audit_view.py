"""`query.py audit`: what was kept of answers, listed, shown, given as it is kept, and deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from ragscience.cli.cli import say
from ragscience.cli.column_list import Column, list_records
from ragscience.cli.line_wrap import LONGEST_LINE, put
from ragscience.cli.pager import paged
from ragscience.cli.screen import console, print_json
from ragscience.cli.views import listing
from ragscience.core.errors import NothingFound
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import counted, one_line, plain, shortened
from ragscience.engine.saved_answers import AUDIT_SCHEMA_VERSION
from ragscience.engine.source_list import page_label

__all__ = ["DIFFERENT", "delete_all", "list_answers", "replay_answer", "show_answer"]

DIFFERENT = 6
"""The exit code where another answer came, or the same from other passages."""

SHOWN = 20
"""Default number of answers in a list."""
QUESTION_CHARS = 100
SNIPPET_CHARS = 160
_MARGIN = "   "
_COLUMNS = (
    Column("answer"),
    Column("when (UTC)"),
    Column("supported"),
    Column("question", least=16),
)

Record = Mapping[str, Any]


def list_answers(engine: Engine, *, limit: int | None, as_json: bool) -> int:
    """The last answers, the newest first: `limit` of them, else SHOWN."""
    records = engine.history.audit(limit or SHOWN)
    if as_json:
        print_json({"schema": AUDIT_SCHEMA_VERSION, "answers": [_listed(record) for record in records]})
    else:
        rows = [
            (
                record["answer_id"],
                _when(record).removesuffix(" UTC"),
                _supported(record),
                record["question"],
            )
            for record in records
        ]
        with paged() as out:
            list_records(_COLUMNS, rows, out)
        if not records:
            say("The audit log has no answers yet.")
    return 0


def show_answer(engine: Engine, start: str, *, as_json: bool) -> int:
    """All that was kept of one answer; as JSON, the object as it is kept."""
    record = engine.history.audit_record(start)
    if as_json:
        print_json(record)
        return 0
    with paged() as out:
        put(out, plain(record["question"]), "> ", style="bold")
        put(out, plain(record["answer"]), width=LONGEST_LINE)
        out.print()
        listing(_about(record), out)
        _passages_view(record["passages"], engine, out)
        _checks_view(record["sentences"], out)
        for warning in record["warnings"]:
            put(out, _flat(warning), "warning: ", style="yellow")
    return 0


def delete_all(engine: Engine) -> int:
    """Delete every audit record."""
    gone = engine.history.delete_audit()
    say(f"{counted(gone, 'audit record')} deleted." if gone else "The audit log has no answers.")
    return 0


def replay_answer(engine: Engine, start: str, *, as_json: bool) -> int:
    """Ask the question of an answer again; 0 where the outcome is the same, else DIFFERENT."""
    replayed = engine.history.replay(start)
    if as_json:
        found = replayed.differences
        value = {
            "schema": AUDIT_SCHEMA_VERSION,
            "answer_id": replayed.answer_id,
            "same": replayed.is_same,
            "differences": [{"kind": item.kind, "outcome": item.is_outcome, "message": item.message} for item in found],
            "replayed": replayed.record,
        }
        print_json(value)
    else:
        out = console()
        for item in replayed.differences:
            colour = "yellow" if item.is_outcome else "dim"
            put(out, _flat(item.message), f"{item.kind}: ", style=colour)
        unchanged = " The differences above changed nothing." if replayed.differences else ""
        same = f"The same: passages, scores, answer and verdicts.{unchanged}"
        put(out, same if replayed.is_same else "The answer or its passages differ.")
    return 0 if replayed.is_same else DIFFERENT


def _listed(record: Record) -> dict[str, Any]:
    names = ("answer_id", "at", "question", "mode", "refused", "agent", "trace_id")
    return {name: record.get(name) for name in names} | {"passages": len(record["passages"])}


def _about(record: Record) -> dict[str, str]:
    library, settings = record["library"], record["settings"]
    rows = {
        "answer": record["answer_id"],
        "when": _when(record),
        "trace": record.get("trace_id") or "",
        "searched": record["searched"] if record["searched"] != record["question"] else "",
        "answered": ", ".join(_manner(record)),
        "filters": ", ".join(f"{name} {_value(value)}" for name, value in record["filters"].items() if value),
        "turns before": str(len(record["history"]) or ""),
        **{part: _model(model) for part, model in record["models"].items() if model},
        "library": f"{library.get('id', '')} generation {library.get('generation')}",
        "program": str(record.get("program", "")),
        "times": "  ".join(f"{name} {value:.0f}" for name, value in record.get("timings_ms", {}).items()),
        "tokens": "  ".join(f"{name} {value}" for name, value in record.get("tokens", {}).items()),
        "settings": "  ".join(f"{name}={_value(value)}" for name, value in sorted(settings.items()) if value != ""),
    }
    return {name: value for name, value in rows.items() if value}


def _manner(record: Record) -> list[str]:
    """How it was answered, in words."""
    found = ["by the agent" if record["agent"] else "", record["mode"], f"profile {record.get('profile')}"]
    found += ["strict" if record["strict"] else "", "refused" if record["refused"] else ""]
    if record.get("k"):
        found.append(f"{counted(record['k'], 'passage')} asked for")
    if record.get("answerability") is not None:
        found.append(f"answerability {record['answerability']:.3f}")
    if record.get("second_look"):
        found.append(f"second look: {record['second_look']}")
    return [text for text in found if text]


def _passages_view(passages: Sequence[Record], engine: Engine, out: Console) -> None:
    """Each passage with where it is, its scores, and how it begins where the library still has it."""
    for item in passages:
        out.print()
        where = f"{plain(item['file'])}, {page_label(item['page_start'], item['page_end'])}"
        put(out, where, f"{item['rank']}  ", style="bold")
        numbers = {"score": item.get("score"), **item["scores"]}
        scores = "  ".join(f"{name} {value:.6f}" for name, value in numbers.items() if value is not None)
        put(out, f"{scores}  by {' + '.join(item.get('found_by', []))}", _MARGIN, style="dim")
        put(out, one_line(item["path"]), _MARGIN, style="dim")
        if item.get("url"):
            put(out, plain(item["url"]), _MARGIN, style="dim")
        put(out, f"{item['md5']}:{item['start']}-{item['end']}", _MARGIN, style="dim")
        put(out, _beginning(item, engine), _MARGIN, width=LONGEST_LINE)


def _beginning(item: Record, engine: Engine) -> str:
    try:
        return shortened(engine.history.passage_text(item), SNIPPET_CHARS)
    except NothingFound as gone:
        return f"({gone.message})"


def _checks_view(sentences: Sequence[Record], out: Console) -> None:
    for number, item in enumerate(sentences):
        evidence = item.get("evidence")
        if not number:
            out.print()
        line = Text(item["verdict"], "bold")
        line.append(f" {item.get('score') or 0.0:.2f}  {shortened(item['text'], SNIPPET_CHARS)}", "not bold")
        if evidence:
            line.append(f"  {one_line(evidence['path'] or evidence['file'])}, p.{evidence['page']}", "not bold dim")
        put(out, line)


def _supported(record: Record) -> str:
    if record["refused"]:
        return "refused"
    verdicts = [item["verdict"] for item in record["sentences"] if item["verdict"] != "no-claim"]
    claims = [verdict for verdict in verdicts if verdict != "quote"]
    if verdicts and not claims:
        return counted(len(verdicts), "quote")
    if not claims:
        return "not checked"
    return f"{claims.count('supported')} of {len(claims)}"


def _model(model: Record) -> str:
    return f"{model.get('name')}  {model.get('digest') or ''}".strip()


def _value(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "[]"
    return shortened(str(value), QUESTION_CHARS)


def _when(record: Record) -> str:
    """`2026-01-31 09:05 UTC`."""
    day, _, clock = plain(record["at"]).partition("T")
    return f"{day} {clock[:5]} UTC"


def _flat(text: str) -> str:
    return " ".join(plain(text).split())
