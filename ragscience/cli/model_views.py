"""`query.py profiles` and `query.py models`: the ways to search, and the models at work."""

from __future__ import annotations

from ragscience.cli.cli import say
from ragscience.cli.screen import print_json
from ragscience.core.records import Profile
from ragscience.core.serialization import SCHEMA_VERSION, select
from ragscience.engine.events import Downloaded, Downloading, Event, Warned
from ragscience.engine.library_engine import Engine
from ragscience.engine.library_output import ProfileOutput, ProfilesOutput
from ragscience.engine.printable import plain

__all__ = ["pull_models", "show_models", "show_profiles"]

_NAME = 12
"""Columns of a profile's name, and of a fact's."""
_SEARCHES = {"dense": "dense", "bm25": "keyword", "graph": "graph", "gear": "graph paths"}
"""What each search is called, by its name in the JSON."""
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
    from rich.text import Text

    from ragscience.cli.column_list import Column, list_records
    from ragscience.cli.line_wrap import put
    from ragscience.cli.screen import console

    out = console()
    heads = ("about", "candidates", "first pass", "reranked", "passages")
    facts = [(one.about, _candidates(one), _first_pass(one), _again(one), str(one.top_k)) for one in profiles]
    names = [one.name for one in profiles]
    if not out.is_terminal:
        in_use = ["in use" if name == chosen else "" for name in names]
        columns = [Column(name) for name in ("profile", "in use", *heads)]
        list_records(columns, [(a, b, *c) for a, b, c in zip(names, in_use, facts, strict=True)], out)
        return 0
    for name, (about, *rest) in zip(names, facts, strict=True):
        put(out, about, Text(f"{name + (' *' if name == chosen else ''):{_NAME}}", "bold"))
        for head, fact in zip(heads[1:], rest, strict=True):
            put(out, fact, Text(f"{' ' * _NAME}{head:{_NAME}}", "dim"))
    put(out, "* marks the profile in use; --profile NAME uses another for one run.", style="dim")
    return 0


def show_models(engine: Engine, *, as_json: bool) -> int:
    """Show what each part would use, where its files are and why; an exit code."""
    rows = engine.model_rows()
    if as_json:
        print_json({"schema": SCHEMA_VERSION, "models": rows})
        return 0
    from rich.text import Text

    from ragscience.cli.column_list import Column, list_records
    from ragscience.cli.line_wrap import put
    from ragscience.cli.screen import console

    out = console()
    if not out.is_terminal:
        columns = [Column(name) for name in ("part", "model", "where", "why", "warning")]
        list_records(columns, [(row.part, row.model or "none", row.where, row.why, row.warning) for row in rows], out)
        return 0
    for row in rows:
        put(out, row.model or "none", Text(f"{row.part:{_NAME}}", "bold"))
        why = "" if row.model is None and row.warning else row.why  # The warning says why no model is used.
        for line in filter(None, (row.where, why, row.warning)):
            put(out, plain(line), " " * _NAME)
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
            say(f"{event.item} was downloaded.")
        elif isinstance(event, Warned):
            say(event.text)
        lines += isinstance(event, Downloaded) or (isinstance(event, Warned) and event.text.startswith("error:"))

    is_whole = engine.pull_models(show)
    if not lines:
        say("No models are missing.")
    return 0 if is_whole else 1


def _weights(profile: Profile) -> dict[str, float]:
    return {"dense": profile.dense_weight, "bm25": profile.bm25_weight, **dict(profile.more_weights)}


def _candidates(profile: Profile) -> str:
    keyword = "all" if profile.bm25_candidates >= EVERY_PASSAGE else str(profile.bm25_candidates)
    further = "".join(f", {_SEARCHES[name]}" for name, _ in profile.more_weights)
    return f"{profile.dense_candidates} dense, {keyword} keyword{further}"


def _first_pass(profile: Profile) -> str:
    if profile.fusion == "rrf":
        return "reciprocal rank: sum of 1 / (60 + rank)"
    scaled = {"weighted": "min-max scaled", "by-max": "cosine and BM25 / max"}[profile.fusion]
    weights = " + ".join(f"{weight:g} {_SEARCHES[name]}" for name, weight in _weights(profile).items())
    return f"{weights} ({scaled})" + (f", best {profile.prefilter}" if profile.prefilter else "")


def _again(profile: Profile) -> str:
    if not profile.rerank_depth:
        return "no"
    batches = f", in batches of {profile.rerank_batch}" if profile.rerank_batch else ""
    reader = ", by an LLM if there is one" if profile.llm_reranks else ""
    return f"{profile.rerank_depth}{batches}{reader}" + ("; searches again if doubtful" if profile.corrective else "")
