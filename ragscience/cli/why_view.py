"""`/why`: how an answer came about, in words; the scores and signals of the search only where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ragscience.cli.answer_view import verdicts_view
from ragscience.cli.output import facts, flat, put
from ragscience.cli.screen import cost_line, step_lines
from ragscience.cli.source_views import paths_view
from ragscience.core.records import Answer
from ragscience.engine.places import holds, page_label, sources_of
from ragscience.engine.printable import counted, plain

_SEARCHES = {
    "dense": "meaning",
    "bm25": "words",
    "graph": "the knowledge graph",
    "gear": "paths in the knowledge graph",
}
"""What each search goes by."""
_STAGES = {
    "search_ms": "search",
    "route_ms": "reading the papers in question",
    "presence_ms": "looking up the question's words",
    "quotes_ms": "choosing the quotes",
    "llm_ms": "the language model",
    "check_ms": "checking the sentences",
}
_LIKELY = ((0.85, "very likely"), (0.6, "likely"), (0.35, "possible"), (0.0, "unlikely"))


def why_view(answer: Answer, out: Console, *, debug: bool = False) -> None:
    """What was searched and how, the passages and what found each, how sure it is, and how long it took.

    With `debug` also the scores of each passage, the signals of the search and the time of each stage.
    """
    facts(_course(answer), out)
    for step in answer.trace:
        for line in step_lines(step):
            put(out, line)
    if answer.trace:
        put(out, cost_line(answer.trace), style="dim")
    _passages(answer, out, debug=debug)
    paths_view(answer.found, out)
    out.print()
    verdicts_view(answer, out, every=True)
    for line in _sureness(answer):
        put(out, line)
    for warning in dict.fromkeys((*answer.found.warnings, *answer.warnings)):
        put(out, plain(warning), "Note: ", style="yellow")
    took = answer.timings_ms
    parts = [f"{says} {_seconds(took[name])}" for name, says in _STAGES.items() if name in took]
    if "total_ms" in took:
        put(
            out, ": ".join(filter(None, [f"It took {_seconds(took['total_ms'])}", ", ".join(parts)])) + ".", style="dim"
        )
    if debug:
        numbers = {
            "signals": [f"{name} {value:.2f}" for name, value in sorted(answer.found.signals.items())],
            "tokens": [f"{name} {count}" for name, count in answer.tokens.items()],
            "milliseconds": [f"{name.removesuffix('_ms')} {value:.0f}" for name, value in
                             {**answer.found.timings_ms, **took}.items()],
        }  # fmt: skip
        facts([("answer", answer.answer_id), *((name, ", ".join(each)) for name, each in numbers.items() if each)], out)


def _course(answer: Answer) -> list[tuple[str, str]]:
    """What was asked, what was searched for it, and who answered."""
    found, models = answer.found, answer.models
    rows = [("You asked", answer.question)]
    if flat(found.question) != flat(answer.question):
        rows.append(("Searched as", found.question))
    if _is_routed(answer):
        rows.append(("Found by", answer.route_note or f"reading the papers ({answer.route})"))
    elif found.hits:
        by = dict.fromkeys(_SEARCHES.get(name, name) for hit in found.hits for name in hit.found_by)
        rows.append(("Searched by", f"{_listed(list(by))} (profile {found.profile})"))
        if models.get("reranker"):
            rows.append(("Reranked by", f"{models['reranker']}, which compares word by word"))
        if answer.route_note:
            rows.append(("", answer.route_note))
    quotes = answer.mode == "extractive"
    who = "quotes, without a language model" if quotes else models.get("llm") or "a language model"
    rows.append(("Answered by", "no one: the answer was refused" if answer.refused else who))
    if answer.prompt_cut:
        rows.append(("", "The server cut the prompt, so the model did not see all of it."))
    return rows


def _passages(answer: Answer, out: Console, *, debug: bool) -> None:
    hits = answer.found.hits
    if not hits:
        put(out, "No passages were found.")
        return
    papers = {hit.chunk.path for hit in hits}
    cited = [hit for hit in hits if any(holds(hit.chunk, citation) for citation in answer.citations)]
    uses = f"; the answer uses {len(cited)}" if not answer.refused else ""
    put(out, f"\nLooked at {counted(len(hits), 'passage')} of {counted(len(papers), 'paper')}{uses}, best first:")
    sources = sources_of(answer) if answer.citations else []
    for hit in hits:
        chunk = hit.chunk
        numbers = [
            f"[{one.number}]" for one in sources if any(holds(hit.chunk, citation) for citation in one.citations)
        ]
        used = " ".join(numbers) or ("used" if hit in cited else "")
        where = f"{flat(chunk.file)}, {page_label(chunk.page_start, chunk.page_end)}"
        put(out, Text(where).append(f"  {used}".rstrip(), "green"), f"{hit.rank:3}  ")
        said = [f"found by {_listed([_SEARCHES.get(name, name) for name in hit.found_by])}"]
        said += [f"{name} {value:.3f}" for name, value in hit.scores.items() if debug and value is not None]
        put(out, "; ".join(said), "     ", style="dim")


def _is_routed(answer: Answer) -> bool:
    """Whether the papers were read for it in another way than by a search for passages."""
    return "routed" in answer.found.signals


def _sureness(answer: Answer) -> list[str]:
    """Why it is sure or not."""
    lines = []
    if answer.answerability is not None and not _is_routed(answer):
        likely = next(word for least, word in _LIKELY if answer.answerability >= least)
        judged = ", so the answer was refused" if answer.refused else ""
        lines.append(f"It is {likely} that these passages answer it ({answer.answerability:.2f}){judged}.")
    return lines


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([*([", ".join(parts[:-1])] if parts[1:] else []), *parts[-1:]])
