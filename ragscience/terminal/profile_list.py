"""`query.py profiles`: the ways to search, and what each does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragscience.json_output import ProfileOutput, ProfilesOutput, print_json, select
from ragscience.records import Profile
from ragscience.retrieval.profiles import EVERY_PASSAGE, all_profiles

if TYPE_CHECKING:
    from ragscience.settings import Settings

__all__ = ["show_profiles"]


def show_profiles(settings: Settings, *, as_json: bool) -> int:
    """Show every profile with the numbers that these settings give it; an exit code."""
    profiles = all_profiles(
        candidates=settings.top_k_candidates,
        top_k=settings.top_k,
        dense_weight=settings.dense_weight,
        bm25_weight=settings.bm25_weight,
    )
    if as_json:
        rows = [
            select(
                ProfileOutput,
                one,
                chosen=one.name == settings.profile,
                weights=_weights(one),
                passages=one.top_k,
            )
            for one in profiles
        ]
        print_json(select(ProfilesOutput, profiles=rows))
        return 0
    from rich.table import Table

    from ragscience.terminal.ask_command import console

    table = Table(box=None, pad_edge=False)
    for head in ("profile", "candidates", "first pass", "read again", "kept", "what it is for"):
        table.add_column(head, justify="right" if head == "kept" else "left")
    for profile in profiles:
        name = f"{profile.name}{' *' if profile.name == settings.profile else ''}"
        table.add_row(
            name, _candidates(profile), _first_pass(profile), _again(profile), str(profile.top_k), profile.about
        )
    out = console()
    out.print(table)
    out.print("* is the one in use; --profile NAME takes another for one run.", style="dim")
    return 0


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
