"""`query.py profiles` and `query.py models`: the ways to search, and the models at work."""

from __future__ import annotations

from ragscience.cli import options as opt
from ragscience.cli.groups import make_app
from ragscience.cli.output import console, print_json, print_table
from ragscience.cli.running import opened, say
from ragscience.cli.status_line import STATUS
from ragscience.core.records import Profile
from ragscience.core.serialization import SCHEMA_VERSION, select
from ragscience.engine.printable import plain

__all__ = ["list_profiles", "models_app"]

_SEARCHES = {"dense": "dense", "bm25": "keyword", "graph": "graph", "gear": "graph paths"}
"""What each search is called, by its name in the JSON."""
PROFILE = (
    "name chosen about dense_candidates bm25_candidates fusion weights prefilter rerank_depth rerank_batch llm_reranks "
    "corrective passages"
)
"""The fields of a profile in JSON."""
EVERY_PASSAGE = 1000
"""The number of candidates that means all passages."""
models_app = make_app("Show which models are used, or fetch missing ones.", default="list", bare="list")


def list_profiles(run: opt.Run, json: bool = opt.JSON) -> int:
    """List the search profiles, for --profile."""
    with opened(**run.flags()) as engine:
        profiles, chosen = engine.profiles(), engine.settings.profile
    if json:
        more = [{"chosen": one.name == chosen, "weights": _weights(one), "passages": one.top_k} for one in profiles]
        found = [select(PROFILE, one, **each) for one, each in zip(profiles, more, strict=True)]
        print_json(select("schema profiles", profiles=found))
        return 0
    heads = ("profile", "in use", "about", "candidates", "first pass", "reranked", "passages")
    rows = [
        (one.name, "in use" if one.name == chosen else "", one.about, _candidates(one), _first_pass(one),
         _reranked(one), f"{one.top_k} passages")
        for one in profiles
    ]  # fmt: skip
    print_table(heads, rows, console(), wraps=(), joined=2)
    return 0


@models_app.command("list")
def list_models(run: opt.Run, json: bool = opt.JSON) -> int:
    """Show which model each part uses, where it is and why."""
    with opened(**run.flags()) as engine:
        rows = engine.model_rows()
    if json:
        print_json({"schema": SCHEMA_VERSION, "models": rows})
        return 0
    cells = [(one.part, one.model or "none", one.where, one.why, one.warning) for one in rows]
    print_table(("part", "model", "where", "why", "warning"), cells, console(), wraps=(), joined=2)
    return 0


@models_app.command()
def pull(run: opt.Run) -> int:
    """Fetch the models that are missing.

    The cross-encoder comes from the Hugging Face Hub, Ollama's models through Ollama.
    """
    from ragscience.engine.events import Downloading, Event, Noted, Warned

    lines = 0

    def show(event: Event) -> None:
        nonlocal lines
        match event:
            case Downloading(item, done, total):
                STATUS.show(f"{plain(item)}: {done / 2**20:.0f} of {(total or 0) / 2**20:.0f} MiB", keeps_time=True)
            case Noted(_, line):
                lines += 1
                say(line)
            case Warned(text):
                lines += text.startswith("error:")
                say(text)

    with opened(**run.flags()) as engine:
        is_whole = engine.models.pull(engine.settings, show)
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


def _reranked(profile: Profile) -> str:
    if not profile.rerank_depth:
        return "no reranking"
    batches = f", in batches of {profile.rerank_batch}" if profile.rerank_batch else ""
    reader = ", by an LLM if there is one" if profile.llm_reranks else ""
    return f"reranks {profile.rerank_depth}{batches}{reader}" + (
        "; searches again if doubtful" if profile.corrective else ""
    )
