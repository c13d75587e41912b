"""Passages and sources: listed, shown on their pages, opened, written as references; and why an answer is so."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from itertools import starmap
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ragscience.cli.answer_view import source_line, under, verdicts_view
from ragscience.cli.output import PROSE, console, facts, flat, hand_over, link_style, paged, put, sign_of
from ragscience.cli.running import say
from ragscience.cli.screen import cost_line, step_lines
from ragscience.core.errors import FileProblem, RagScienceError, UsageError
from ragscience.core.paper_records import place_label
from ragscience.core.records import Answer, Found, PathStep
from ragscience.core.sentences import formulas_named
from ragscience.core.serialization import slashed
from ragscience.core.system import GROUP_OF_ITS_OWN
from ragscience.engine import places
from ragscience.engine.library_engine import Engine
from ragscience.engine.printable import counted, one_line, plain, shortened

SNIPPET_CHARS = 480
_VIEWERS = ("evince -i {page} {file}", "okular -p {page} {file}", "zathura -P {page} {file}", "mupdf {file} {page}")
"""Those that are known to take a page, by their manuals; the first that is installed is taken."""


def hits_view(found: Found, out: Console) -> None:
    """The ranked passages, each with where it is, what made its score, and how it begins."""
    if not found.hits:
        out.print("No passages found.")
    for hit in found.hits:
        chunk, sign = hit.chunk, f"{hit.rank}  "
        line = Text(f"{plain(chunk.file)}, {place_label(chunk.file, chunk.page_start, chunk.page_end)}", "bold")
        line.append(under(chunk.section, out))
        if chunk.kind != "text":
            line.append(f"  {plain(chunk.kind)}", "not bold dim")
        put(out, line, Text(sign, "bold"))
        scores = "  ".join(f"{name} {value:.3f}" for name, value in hit.scores.items() if value is not None)
        put(out, f"{scores}  by {' + '.join(hit.found_by)}", " " * len(sign), style="dim")
        put(out, shortened(formulas_named(chunk.text, chunk.page_start), SNIPPET_CHARS), " " * len(sign), width=PROSE)
        out.print()
    paths_view(found, out)


def paths_view(found: Found, out: Console) -> None:
    """The graph's paths of stated relations for a question, a line each; nothing without any."""
    if not found.paths:
        return
    from ragscience.engine.graph_runs import CO_OCCURS

    paths = [path for path in found.paths if all(step.relation != CO_OCCURS for step in path.steps)]
    if paths:
        put(out, "Paths in the knowledge graph:", style="dim")
    for path in paths:
        put(out, f"{path.score:.3f}  {'; '.join(map(path_words, path.steps))}", "  ", style="dim")


def path_words(step: PathStep) -> str:
    """`BM25 USED_WITH FAISS (a.pdf, p.3)`."""
    return flat(f"{step.source} {step.relation} {step.target} {' '.join(starmap(places.cited_label, step.pages))}")


def sources_view(answer: Answer, out: Console) -> None:
    """Each source with its page and its quotes; after the cited ones the passages that were given and not cited."""
    sources = places.sources_given(answer)
    cited = len(places.sources_of(answer)) if answer.citations else 0
    if not sources:
        out.print("The answer has no sources.")
    for source in sources:
        if source.number == cited + 1:
            given = "Also read, not cited:" if cited else "The answer cites nothing. Passages that were read:"
            put(out, f"{given}\n", style="dim")
        sign = f"[{source.number}] "
        put(out, source_line(answer, source, out, "bold"), Text(sign, "bold"))
        for citation in dict.fromkeys(source.citations):
            put(out, plain(citation.quote).strip(), " " * len(sign), width=PROSE)
        out.print()


def surroundings_view(shown: places.Surroundings, out: Console) -> None:
    """The page of a source around what is quoted of it: the quotes in colour, or between marks without colours."""
    source, text, gap = shown.source, shown.text, sign_of("…", "...", out)
    style = link_style(source.path, source.page, out)
    where = f"{plain(source.file)}, {place_label(source.file, source.page)}"
    put(out, Text(where, style), Text(f"[{source.number}] ", "dim"))
    colours = out.color_system is not None and not out.no_color
    opens, closes = ("", "") if colours else (sign_of("»", ">>", out), sign_of("«", "<<", out))
    for place, window in enumerate(shown.windows):
        if place or window[0] > 0:
            put(out, gap, style="dim")
        part, at = Text(), window[0]
        for start, end in shown.quotes:
            if window[0] <= start and end <= window[1]:
                part.append(plain(text[at:start]))
                part.append(f"{opens}{plain(text[start:end])}{closes}", "bold black on yellow")
                at = end
        put(out, part.append(plain(text[at : window[1]])), width=PROSE)
    if shown.windows[-1][1] < len(text):
        put(out, gap, style="dim")
    if not shown.quotes:
        put(out, "The quote was not found in the library's text of this page.", style="yellow")


# The page in a viewer


def open_source(engine: Engine, answer: Answer, number: int) -> None:
    """Say where a source is, and open it where there is a screen and a viewer.

    Raises UsageError for a number that the answer does not list, FileProblem where the file is gone, RagScienceError
    where the viewer does not start.
    """
    source = places.source_now(answer, number, engine.library)
    out, shown = console(), engine.files.shown(source.path)
    is_here = shown == source.path
    where = f"{one_line(shown or source.file)}, {place_label(source.file, source.page)}"
    put(out, Text(where, link_style(source.path, source.page, out) if is_here else ""), f"[{source.number}] ")
    if is_here:
        _require(Path(source.path), source)
    if not viewer_command(engine.settings.pdf_viewer, source.path, source.page):
        say("No PDF viewer or no display was found: open the page yourself, or set RAG_PDF_VIEWER.")
        return
    with engine.papers.opened(Path(source.path)) as file:
        _require(file, source)
        _start(viewer_command(engine.settings.pdf_viewer, str(file), source.page), source)


def _require(file: Path, source: places.Source) -> None:
    """Raise FileProblem where the file of the source is not there."""
    if not file.is_file():
        fix = "Restore the file, or run `python ingest.py sync` to remove it from the library."
        raise FileProblem(f"{source.path or source.file} no longer exists.", fix, reason="missing")


def viewer_command(template: str, path: str, page: int) -> list[str]:
    """The command that opens a page, word by word; empty where there is no screen or nothing that could do it.

    `template` is split as a shell does, and {file} and {page} are put into its words: no shell ever reads the file's
    name. An empty template means the first known viewer that is installed, else the system's default program.
    """
    opener = {"darwin": "open", "win32": "explorer"}.get(sys.platform)
    if not template and opener:
        return [opener, path]
    if not template and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return []
    template = template or next((known for known in _VIEWERS if shutil.which(known.partition(" ")[0])), "")
    if not template:
        return ["xdg-open", path] if shutil.which("xdg-open") else []
    try:
        words = shlex.split(slashed(template))  # a backslash would escape what follows
    except ValueError as error:
        raise RagScienceError(f"RAG_PDF_VIEWER {template!r} cannot be read: {error}.", "Close its quotes.") from error
    return [word.replace("{page}", str(page)).replace("{file}", path) for word in words]  # a file may be called {page}


def _start(command: list[str], source: places.Source) -> None:
    try:
        subprocess.Popen(  # noqa: S603 - the person's own viewer, without a shell
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # it remains open when the terminal closes
            creationflags=GROUP_OF_ITS_OWN,
        )
    except (OSError, ValueError) as error:
        fix = f"Set RAG_PDF_VIEWER to another one, or open page {source.page} yourself."
        raise RagScienceError(f"The viewer {command[0]} could not be started: {error}.", fix) from error


# References


def show_bib(engine: Engine, papers: Sequence[str], *, cited: str | None, csl: bool, target: Path | None) -> None:
    """Write the named papers, those that the answer `cited` cites, or all as BibTeX or CSL-JSON.

    `cited` is the beginning of an answer's id, or "last". Raises UsageError for both at once, RagScienceError for a
    paper, NothingFound for an answer that is not there.
    """
    if papers and cited is not None:
        raise UsageError("Papers and --cited exclude each other.", "Give one of them.")
    if cited is not None:
        answer = engine.history.answer(cited).answer
        text = cited_text(engine, [answer], csl=csl)
    else:
        count, text = engine.papers.bibliography(papers, csl=csl)
        if not count:
            say("The library has no papers.")
    if target is not None:
        hand_over(text, target)
        return
    with paged() as out:
        out.print(Text(text.encode("utf-8", "replace").decode()), soft_wrap=True, end="")


def cited_text(engine: Engine, answers: Sequence[Answer], *, csl: bool) -> str:
    """The papers that the answers cite, each once; says so where they cite none."""
    count, text = engine.papers.bibliography(cited_by=answers, csl=csl)
    if not count:
        say("The answer cites no paper.")
    return text


# `/why`: how an answer came about; scores and signals of the search only where they are asked for

_SEARCHES = {
    "dense": "meaning",
    "bm25": "words",
    "graph": "the knowledge graph",
    "gear": "paths in the knowledge graph",
}
"""What each search goes by."""
_LIKELY = ((0.85, "very likely"), (0.6, "likely"), (0.35, "possible"), (0.0, "unlikely"))


def why_view(answer: Answer, out: Console) -> None:
    """What was searched and how, the passages and what found each, and how sure it is."""
    facts(_course(answer), out)
    for step in answer.trace:
        for line in step_lines(step):
            put(out, line)
    if answer.trace:
        put(out, cost_line(answer.trace), style="dim")
    _passages(answer, out)
    paths_view(answer.found, out)
    out.print()
    verdicts_view(answer, out, every=True)
    if answer.answerability is not None and not _is_routed(answer):
        likely = next(word for least, word in _LIKELY if answer.answerability >= least)
        judged = ", so the answer was refused" if answer.refused else ""
        put(out, f"It is {likely} that these passages answer it ({answer.answerability:.2f}){judged}.")
    for warning in dict.fromkeys((*answer.found.warnings, *answer.warnings)):
        put(out, plain(warning), "Note: ", style="yellow")


def _course(answer: Answer) -> list[tuple[str, str]]:
    """What was asked, what was searched for it, and who answered."""
    found, models = answer.found, answer.models
    rows = [("You asked", answer.question)]
    if flat(found.question) != flat(answer.question):
        rows.append(("Searched as", found.question))
    if _is_routed(answer):
        rows.append(("Found by", answer.route_note or f"reading the papers ({answer.route})"))
    elif found.hits:
        by = _listed(name for hit in found.hits for name in hit.found_by)
        rows.append(("Searched by", f"{by} (profile {found.profile})"))
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


def _passages(answer: Answer, out: Console) -> None:
    hits = answer.found.hits
    if not hits:
        put(out, "No passages were found.")
        return
    papers = {hit.chunk.path for hit in hits}
    put(out, f"\nLooked at {counted(len(hits), 'passage')} of {counted(len(papers), 'paper')}, best first:")
    sources = places.sources_of(answer) if answer.citations else []
    for hit in hits:
        chunk = hit.chunk
        used = [f"[{one.number}]" for one in sources if any(places.holds(chunk, cited) for cited in one.citations)]
        where = f"{flat(chunk.file)}, {place_label(chunk.file, chunk.page_start, chunk.page_end)}"
        put(out, Text(where).append(f"  {' '.join(used)}".rstrip(), "green"), f"{hit.rank:3}  ")
        put(out, f"found by {_listed(hit.found_by)}", "     ", style="dim")


def _is_routed(answer: Answer) -> bool:
    """Whether the papers were read for it in another way than by a search for passages."""
    return "routed" in answer.found.signals


def _listed(searches: Iterable[str]) -> str:
    return " and ".join(dict.fromkeys(_SEARCHES.get(name, name) for name in searches))
