"""`/why`: how an answer came about, in words; the scores and signals of the search only where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ragscience.cli.answer_view import verdicts_view
from ragscience.cli.output import facts, flat, put
from ragscience.cli.screen import cost_line, step_lines
from ragscience.cli.source_views import paths_view
from ragscience.core.records import Answer, Citation, Hit
from ragscience.engine.places import page_label, sources_of
from ragscience.engine.printable import asked_words, counted, plain

__all__ = ["why_view"]

_SEARCHES = {
    "dense": "meaning",
    "bm25": "words",
    "graph": "the knowledge graph",
    "gear": "paths in the knowledge graph",
}
"""What each search goes by, in the order of `Hit.scores`."""
_STAGES = {
    "search_ms": "search",
    "route_ms": "reading the papers in question",
    "presence_ms": "looking up the question's words",
    "quotes_ms": "choosing the quotes",
    "llm_ms": "the language model",
    "check_ms": "checking the sentences",
}
_LIKELY = ((0.85, "very likely"), (0.6, "likely"), (0.35, "possible"), (0.0, "unlikely"))
_STANDS_OUT = 0.2
"""How far the first score is above the fourth where the first passage stands out."""
_WORDS = 8
"""Words of the question that are named of a passage."""


def why_view(answer: Answer, out: Console, *, debug: bool = False) -> None:
    """What was searched and how, the passages and why they are in this order, how sure it is, and how long it took.

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
    hits, question = answer.found.hits, answer.found.question
    if not hits:
        put(out, "No passages were found.")
        return
    papers = {hit.chunk.path for hit in hits}
    cited = [hit for hit in hits if any(_is_of(hit, citation) for citation in answer.citations)]
    uses = f"; the answer uses {len(cited)}" if not answer.refused else ""
    put(out, f"\nLooked at {counted(len(hits), 'passage')} of {counted(len(papers), 'paper')}{uses}, best first:")
    places = {name: _places(hits, name) for name in _SEARCHES}
    sources = sources_of(answer) if answer.citations else []
    for at, hit in enumerate(hits):
        chunk = hit.chunk
        numbers = [f"[{one.number}]" for one in sources if any(_is_of(hit, citation) for citation in one.citations)]
        used = " ".join(numbers) or ("used" if hit in cited else "")
        where = f"{flat(chunk.file)}, {page_label(chunk.page_start, chunk.page_end)}"
        put(out, Text(where).append(f"  {used}".rstrip(), "green"), f"{hit.rank:3}  ")
        said = [f"{places[name][at]} by {says}" for name, says in _SEARCHES.items() if places[name][at]]
        said = said or [f"found by {_listed([_SEARCHES.get(name, name) for name in hit.found_by])}"]
        has, lacks = _words_of(question, chunk.text)
        said += [f"has {', '.join(has)}"] if has else ["has no words of the question"]
        said += [f"lacks {', '.join(lacks)}"] if has and lacks else []
        if debug:
            said += [f"{name} {value:.3f}" for name, value in hit.scores.items() if value is not None]
        put(out, "; ".join(said), "     ", style="dim")
    if len(hits) > 1 and not _is_routed(answer):
        put(out, _why_first(hits, places, question))


def _why_first(hits: Sequence[Hit], places: dict[str, list[str]], question: str) -> str:
    """Why the first passage is before the others."""
    reasons = [f"is 1st by {says}" for name, says in _SEARCHES.items() if places[name][0] == "1st"]
    counts = [len(_words_of(question, hit.chunk.text)[0]) for hit in hits]
    if counts[0] and counts[0] == max(counts):
        reasons.append("contains the most words of the question")
    if hits[0].scores.get("rerank") is not None:
        reasons.append("was ranked first by the reranker")
    because = f"leads because it {_listed(reasons)}" if reasons else "has the best combined score"
    return f"The first passage {because}."


def _places(hits: Sequence[Hit], name: str) -> list[str]:
    """Each passage's place by the scores of one search, among these passages; empty where it has none."""
    values = [hit.scores.get(name) for hit in hits]
    order = sorted((value for value in values if value), reverse=True)
    return [_ordinal(order.index(value) + 1) if value else "" for value in values]


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def _words_of(question: str, text: str) -> tuple[list[str], list[str]]:
    """The words of the question that a passage has, in any form, and those that it lacks; each once."""
    has = dict.fromkeys(flat(question[start:end]) for start, end in asked_words(text, question))
    every = dict.fromkeys(flat(question[start:end]) for start, end in asked_words(question, question))
    return list(has)[:_WORDS], [word for word in every if word not in has][:_WORDS]


def _is_routed(answer: Answer) -> bool:
    """Whether the papers were read for it in another way than by a search for passages."""
    return "routed" in answer.found.signals


def _sureness(answer: Answer) -> list[str]:
    """Why it is sure or not."""
    lines, routed = [], _is_routed(answer)
    if answer.answerability is not None and not routed:
        likely = next(word for least, word in _LIKELY if answer.answerability >= least)
        judged = ", so the answer was refused" if answer.refused else ""
        lines.append(f"It is {likely} that these passages answer it ({answer.answerability:.2f}){judged}.")
    if answer.confidence is None or answer.refused:
        return lines
    scores = [hit.score for hit in answer.found.hits]
    if len(scores) > 1 and not routed:
        stands_out = scores[0] - scores[min(3, len(scores) - 1)] >= _STANDS_OUT
        alike = "Several passages fit about as well as the first, which lowers the confidence."
        lines.append("The first passage stands out from the others." if stands_out else alike)
    if answer.found.parts:
        lines.append("The question has several parts, and each needs an answer.")
    if answer.missing:
        lines.append("Something named in the question was not found, which lowers the confidence.")
    return lines


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"


def _is_of(hit: Hit, citation: Citation) -> bool:
    """Whether a citation is of words in the passage; of its pages, where the words are not placed."""
    chunk = hit.chunk
    if citation.file != chunk.file or not chunk.page_start <= citation.page <= chunk.page_end:
        return False
    return not citation.end or (citation.start < chunk.end and chunk.start < citation.end)


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([*([", ".join(parts[:-1])] if parts[1:] else []), *parts[-1:]])
