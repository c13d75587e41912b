"""`related` and `map`: which papers are alike, and the papers and entities of a library as a page to look at."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ragscience.engine.printable import plain
from ragscience.errors import NothingFound, UsageError
from ragscience.ingestion import papers_named
from ragscience.json_output import RelatedOutput, RelatedPaper, print_json, select
from ragscience.records import Paper, title_of
from ragscience.store import Home, Library

__all__ = ["show_related", "write_map"]


def show_related(home: Home, file: str, count: int, console: Console | None) -> int:
    """The papers nearest to one by their mean vectors, as JSON on stdout where there is no console; an exit code.

    Raises RagScienceError for a name that means no paper, NothingFound for a paper without passages.
    """
    from ragscience.graph.paper_map import paper_map

    with Library.open(home) as library, library.snapshot():
        paper = papers_named(library, [file])[0]
        known = paper_map(library)
    place = next((at for at, one in enumerate(known.papers) if one.paper_id == paper.paper_id), None)
    if place is None:
        raise NothingFound(
            f"{paper.file} has no passages to compare.", f"`python ingest.py show {paper.file}` tells more."
        )
    related = known.related(place, count)
    if console is None:
        print_json(_related_output(paper, related))
        return 0
    if not related:
        console.print("There is no other paper.")
    for other, cosine in related:
        line = Text(f"{cosine:.3f}  ").append(plain(other.file), "bold")
        title = " ".join(plain(title_of(other)).split())
        console.print(line.append(f"  {title}" if title else ""), soft_wrap=True)
    return 0


def _related_output(paper: Paper, related: list[tuple[Paper, float]]) -> RelatedOutput:
    rows = [select(RelatedPaper, one, title=title_of(one), cosine=round(cosine, 6)) for one, cosine in related]
    return select(RelatedOutput, paper, related=rows)


def write_map(
    home: Home,
    target: Path,
    *,
    force: bool,
    neighbours: int,
    threshold: float,
    max_nodes: int,
    notice: Callable[[str], None] | None,
) -> int:
    """Write the page; an exit code. `notice` receives what is drawn.

    Raises NothingFound for an empty library, UsageError for a file that is no map and is not to be replaced.
    """
    from ragscience.graph.map_data import views_of
    from ragscience.graph.map_html import check_target, map_page, write_file

    tell = notice or _keep_quiet

    if target.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"The map is an HTML file, not {target.name!r}.", "Write: python query.py map map.html")
    check_target(target, force=force)
    with Library.open(home) as library:
        if not library.paper_count:
            raise NothingFound("There are no papers to draw.", "`python ingest.py` takes them in.")
        views = views_of(library, neighbours=neighbours, threshold=threshold, max_nodes=max_nodes, title_of=title_of)
    write_file(target, map_page(views))
    for view in views:
        tell(f"{view.name}: {len(view.nodes):,} nodes, {len(view.edges):,} edges. {view.left_out}".rstrip())
        if not view.nodes:
            tell("There is no graph of entities yet: `python ingest.py graph` makes it.")
    tell(f"Written: {target}")
    return 0


def _keep_quiet(_: str) -> None:
    """For --quiet."""
