"""`query.py profiles` and `query.py models`: the ways to search, and the models at work."""

from __future__ import annotations

from ragscience.engine.events import Downloaded, Downloading, Event, Warned
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import plain
from ragscience.json_output import SCHEMA_VERSION, ProfileOutput, ProfilesOutput, select
from ragscience.records import Profile
from ragscience.terminal.cli import say
from ragscience.terminal.screen import print_json

__all__ = ["pull_models", "show_models", "show_profiles"]

EVERY_PASSAGE = 1000
"""The number of candidates that means all passages."""


def show_profiles(engine: Engine, *, as_json: bool) -> int:
    """Show every profile with the numbers that the settings give it; an exit code."""
    profiles, chosen = engine.profiles(), engine.settings.profile
    if as_json:
        rows = [
            select(ProfileOutput, one, chosen=one.name == chosen, weights=_weights(one), passages=one.top_k)
            for one in profiles
        ]
        print_json(select(ProfilesOutput, profiles=rows))
        return 0
    from rich.table import Table

    from ragscience.terminal.screen import console

    table = Table(box=None, pad_edge=False)
    for head in ("profile", "candidates", "first pass", "read again", "kept", "what it is for"):
        table.add_column(head, justify="right" if head == "kept" else "left")
    for profile in profiles:
        name = f"{profile.name}{' *' if profile.name == chosen else ''}"
        cells = _candidates(profile), _first_pass(profile), _again(profile), str(profile.top_k), profile.about
        table.add_row(name, *cells)
    out = console()
    out.print(table)
    out.print("* is the one in use; --profile NAME takes another for one run.", style="dim")
    return 0


def show_models(engine: Engine, *, as_json: bool) -> int:
    """Show what each part would use, where its files are and why; an exit code."""
    rows = engine.model_rows()
    if as_json:
        print_json({"schema": SCHEMA_VERSION, "models": rows})
        return 0
    from ragscience.terminal.screen import console
    from ragscience.terminal.views import listing

    for row in rows:
        shown = {row.part: row.model or "none", "": row.where, " ": row.why, "  ": row.warning}
        listing({name: value for name, value in shown.items() if value}, console())
    return 0


def pull_models(engine: Engine, *, quiet: bool) -> int:
    """Fetch what is missing, with a line for each tenth of a file; an exit code."""
    shown: dict[str, int] = {}
    lines = 0

    def show(event: Event) -> None:
        nonlocal lines
        if isinstance(event, Downloading):
            tenth = 10 * event.done_bytes // event.total_bytes if event.total_bytes else 0
            if not quiet and shown.get(event.item) != tenth:
                shown[event.item] = tenth
                say(f"{plain(event.item)}: {event.done_bytes / 2**20:.0f} MiB, {10 * tenth} %")
        elif isinstance(event, Downloaded):
            say(f"{event.item} is here now.")
        elif isinstance(event, Warned):
            say(event.text)
        lines += isinstance(event, Downloaded) or (isinstance(event, Warned) and event.text.startswith("error:"))

    is_whole = engine.pull_models(show)
    if not lines:
        say("Nothing is missing.")
    return 0 if is_whole else 1


def _weights(profile: Profile) -> dict[str, float]:
    return {"dense": profile.dense_weight, "bm25": profile.bm25_weight, **dict(profile.more_weights)}


def _candidates(profile: Profile) -> str:
    keyword = "all" if profile.bm25_candidates >= EVERY_PASSAGE else str(profile.bm25_candidates)
    further = "".join(f", {name}" for name, _ in profile.more_weights)
    return f"{profile.dense_candidates} dense, {keyword} keyword{further}"


def _first_pass(profile: Profile) -> str:
    if profile.fusion == "rrf":
        return "sum of 1 / (60 + rank)"
    scaled = {"weighted": "min-max", "by-max": "cosine, BM25 / max"}[profile.fusion]
    weights = " + ".join(f"{weight:g} {name}" for name, weight in _weights(profile).items())
    return f"{weights} ({scaled})" + (f", best {profile.prefilter}" if profile.prefilter else "")


def _again(profile: Profile) -> str:
    if not profile.rerank_depth:
        return "nothing"
    batches = f", by {profile.rerank_batch}" if profile.rerank_batch else ""
    reader = ", by an LLM where there is one" if profile.llm_reranks else ""
    return f"{profile.rerank_depth}{batches}{reader}" + ("; corrective" if profile.corrective else "")
