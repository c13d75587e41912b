"""`/why`: how an answer came about, in words; the scores and signals of the search only where they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from ragscience.cli.line_wrap import put
from ragscience.cli.step_words import cost_line, step_lines
from ragscience.cli.two_columns import two_columns
from ragscience.cli.views import verdicts_view
from ragscience.core.records import Answer, Hit
from ragscience.engine.asked_words import asked_words
from ragscience.engine.printable import counted, plain
from ragscience.engine.source_list import page_label, sources_of

__all__ = ["why_view"]

_SEARCHES = {
    "dense": "meaning",
    "bm25": "words",
    "graph": "the knowledge graph",
    "gear": "paths in the knowledge graph",
}
"""What each search goes by, in the order of `Hit.scores`."""
_MODES = {"extractive": "quotes, without a language model"}
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


def why_view(answer: Answer, console: Console, *, debug: bool = False) -> None:
    """What was searched and how, the passages and why they are in this order, how sure it is, and how long it took.

    With `debug` also the scores of each passage, the signals of the search and the time of each stage.
    """
    two_columns(_course(answer), console)
    for step in answer.trace:
        for line in step_lines(step):
            put(console, line)
    if answer.trace:
        put(console, cost_line(answer.trace), style="dim")
    _passages(answer, console, debug=debug)
    if answer.found.paths:
        from ragscience.cli.graph_views import paths_view

        paths_view(answer.found, console)
    console.print()
    verdicts_view(answer, console, every=True)
    for line in _sureness(answer):
        put(console, line)
    for warning in dict.fromkeys((*answer.found.warnings, *answer.warnings)):
        put(console, plain(warning), "Note: ", style="yellow")
    if took := _times(answer):
        put(console, took, style="dim")
    if debug:
        _raw(answer, console)


def _course(answer: Answer) -> list[tuple[str, str]]:
    """What was asked, what was searched for it, and who answered."""
    found, models = answer.found, answer.models
    rows = [("You asked", _flat(answer.question))]
    if _flat(found.question) != _flat(answer.question):
        rows.append(("Searched as", _flat(found.question)))
    if _is_routed(answer):
        rows.append(("Found by", _flat(answer.route_note) or f"reading the papers ({_flat(answer.route)})"))
    elif found.hits:
        by = dict.fromkeys(_SEARCHES.get(name, name) for hit in found.hits for name in hit.found_by)
        rows.append(("Searched by", f"{_listed(list(by))} (profile {_flat(found.profile)})"))
        if models.get("reranker"):
            rows.append(("Reranked by", f"{_flat(models['reranker'] or '')}, which compares word by word"))
        if answer.route_note:
            rows.append(("", _flat(answer.route_note)))
    who = _MODES.get(answer.mode) or _flat(models.get("llm") or "a language model")
    rows.append(("Answered by", "no one: the answer was refused" if answer.refused else who))
    if answer.prompt_cut:
        rows.append(("", "The server cut the prompt, so the model did not see all of it."))
    return rows


def _passages(answer: Answer, console: Console, *, debug: bool) -> None:
    hits = answer.found.hits
    if not hits:
        put(console, "No passages were found.")
        return
    papers = {hit.chunk.path for hit in hits}
    cited = [hit for hit in hits if _cites(answer, hit)]
    console.print()
    uses = f"; the answer uses {len(cited)}" if not answer.refused else ""
    put(console, f"Looked at {counted(len(hits), 'passage')} of {counted(len(papers), 'paper')}{uses}, best first:")
    places = {name: _places(hits, name) for name in _SEARCHES}
    numbers = _source_numbers(answer)
    for at, hit in enumerate(hits):
        chunk = hit.chunk
        where = f"{_flat(chunk.file)}, {page_label(chunk.page_start, chunk.page_end)}"
        used = numbers.get(id(hit), "used" if hit in cited else "")
        put(console, Text(where).append(f"  {used}", "green" if used else ""), f"{hit.rank:3}  ")
        told = [f"{places[name][at]} by {says}" for name, says in _SEARCHES.items() if places[name][at]]
        told += [f"found by {_listed([_SEARCHES.get(name, name) for name in hit.found_by])}"] if not told else []
        has, lacks = _words_of(answer.found.question, chunk.text)
        told += [f"has {', '.join(has)}"] if has else ["has no words of the question"]
        told += [f"lacks {', '.join(lacks)}"] if has and lacks else []
        if debug:
            told += [f"{name} {value:.3f}" for name, value in hit.scores.items() if value is not None]
        put(console, "; ".join(told), "     ", style="dim")
    if len(hits) > 1 and not _is_routed(answer):
        put(console, _why_first(hits, places, answer.found.question))


def _why_first(hits: Sequence[Hit], places: dict[str, list[str]], question: str) -> str:
    """Why the first passage is before the others."""
    first = hits[0]
    reasons = [f"is {places[name][0]} by {says}" for name, says in _SEARCHES.items() if places[name][0] == "1st"]
    counts = [len(_words_of(question, hit.chunk.text)[0]) for hit in hits]
    if counts[0] and counts[0] == max(counts):
        reasons.append("contains the most words of the question")
    if first.scores.get("rerank") is not None:
        reasons.append("was ranked first by the reranker")
    return (
        f"The first passage leads because it {_listed(reasons)}."
        if reasons
        else "The first passage has the best combined score."
    )


def _places(hits: Sequence[Hit], name: str) -> list[str]:
    """Each passage's place by the scores of one search, among these passages; empty where it has none."""
    values = [hit.scores.get(name) for hit in hits]
    order = sorted((value for value in values if value), reverse=True)
    return [_ordinal(order.index(value) + 1) if value else "" for value in values]


def _ordinal(number: int) -> str:
    return (
        f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') if number % 100 not in (11, 12, 13) else 'th' }"
    )


def _words_of(question: str, text: str) -> tuple[list[str], list[str]]:
    """The words of the question that a passage has, in any form, and those that it lacks; each once."""
    has = dict.fromkeys(_flat(question[start:end]) for start, end in asked_words(text, question))
    every = dict.fromkeys(_flat(question[start:end]) for start, end in asked_words(question, question))
    return list(has)[:_WORDS], [word for word in every if word not in has][:_WORDS]


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
    if answer.confidence is None or answer.refused:
        return lines
    scores = [hit.score for hit in answer.found.hits]
    if len(scores) > 1 and not _is_routed(answer):
        stands_out = scores[0] - scores[min(3, len(scores) - 1)] >= _STANDS_OUT
        lines.append(
            "The first passage stands out from the others."
            if stands_out
            else "Several passages fit about as well as the first, which lowers the confidence."
        )
    if answer.found.parts:
        lines.append("The question has several parts, and each needs an answer.")
    if answer.missing:
        lines.append("Something named in the question was not found, which lowers the confidence.")
    return lines


def _times(answer: Answer) -> str:
    took = answer.timings_ms
    parts = [f"{says} {_seconds(took[name])}" for name, says in _STAGES.items() if name in took]
    whole = f"It took {_seconds(took['total_ms'])}" if "total_ms" in took else ""
    return f"{whole or 'Time'}: {', '.join(parts)}." if parts else f"{whole}." if whole else ""


def _seconds(milliseconds: float) -> str:
    return f"{milliseconds / 1000:.1f} s" if milliseconds >= 1000 else f"{milliseconds:.0f} ms"


def _raw(answer: Answer, console: Console) -> None:
    """What only somebody who works on the search reads."""
    found = answer.found
    rows = [("answer", answer.answer_id)]
    if found.signals:
        rows.append(
            ("signals", ", ".join(f"{_flat(name)} {value:.2f}" for name, value in sorted(found.signals.items())))
        )
    if answer.tokens:
        rows.append(("tokens", ", ".join(f"{_flat(name)} {count}" for name, count in answer.tokens.items())))
    times = {**found.timings_ms, **answer.timings_ms}
    rows.append(
        ("milliseconds", ", ".join(f"{_flat(name.removesuffix('_ms'))} {value:.0f}" for name, value in times.items()))
    )
    two_columns(rows, console)


def _source_numbers(answer: Answer) -> dict[int, str]:
    """For the id() of each passage that is cited, the numbers of its sources: "[1] [3]"."""
    numbers: dict[int, str] = {}
    sources = sources_of(answer) if answer.citations else []
    for hit in answer.found.hits:
        chunk = hit.chunk
        cited = [
            f"[{source.number}]"
            for source in sources
            if source.file == chunk.file
            and any(_is_of(hit, citation.start, citation.end, citation.page) for citation in source.citations)
        ]
        if cited:
            numbers[id(hit)] = " ".join(cited)
    return numbers


def _cites(answer: Answer, hit: Hit) -> bool:
    """Whether a citation is of words in the passage; of its pages, where the words are not placed."""
    return any(
        citation.file == hit.chunk.file and _is_of(hit, citation.start, citation.end, citation.page)
        for citation in answer.citations
    )


def _is_of(hit: Hit, start: int, end: int, page: int) -> bool:
    chunk = hit.chunk
    if not chunk.page_start <= page <= chunk.page_end:
        return False
    return not end or (start < chunk.end and chunk.start < end)


def _listed(parts: Sequence[str]) -> str:
    return " and ".join([*([", ".join(parts[:-1])] if parts[1:] else []), *parts[-1:]])


def _flat(text: str) -> str:
    return " ".join(plain(text).split())
