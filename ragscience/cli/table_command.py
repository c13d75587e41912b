"""`query.py table`: a literature matrix, shown and written."""

from pathlib import Path

from ragscience.cli import options as opt
from ragscience.cli.output import console, print_json, print_table, put
from ragscience.cli.running import opened, say
from ragscience.cli.screen import Screen
from ragscience.cli.status_line import STATUS
from ragscience.core.paper_records import place_label
from ragscience.engine.printable import counted, plain, write_out


def table(
    narrow: opt.Narrow,
    ranking: opt.Ranking,
    run: opt.Run,
    file: Path = opt.argument("FILE", "A YAML file of questions: a name, a question and a type for each column."),
    json: bool = opt.JSON,
    csv: Path | None = opt.option("--csv FILE", "Write it for a spreadsheet, with pages and quotes.", panel=opt.OUTPUT),
    xlsx: Path | None = opt.option("--xlsx FILE", "The same as a workbook (needs openpyxl).", panel=opt.OUTPUT),
    md: Path | None = opt.option("--md FILE", "Write it in Markdown, with the quotes below.", panel=opt.OUTPUT),
    html: Path | None = opt.option("--html FILE", "Write a page with the quote behind each value.", panel=opt.OUTPUT),
    fresh: bool = opt.flag("--fresh", "Ask again what was asked before."),
) -> int:
    """Fill a table: each paper is asked each question, and each value has its quote and page.

    Finished cells are kept: a run that was stopped goes on, and only what is new or changed is asked.
    """
    from ragscience.engine.matrix_runs import fill
    from ragscience.engine.requests import AskRequest
    from ragscience.review import matrix_files
    from ragscience.review.columns import read_columns

    columns, screen = read_columns(file), Screen(quiet=run.quiet)
    with opened(screen, **ranking.flags(), **run.flags(), history=False) as engine:
        screen.told = engine.home.told
        request = AskRequest("", narrow.filters(), top_k=narrow.k)
        matrix = fill(engine, columns, request, fresh=fresh, on_event=screen)
    STATUS.hide()
    for target, made in (
        (csv, matrix_files.as_csv),
        (xlsx, matrix_files.as_workbook),
        (md, matrix_files.as_markdown),
        (html, matrix_files.as_page),
    ):
        if target is not None:
            write_out(target, made(matrix))
            say(f"Written to {target}.")
    if json:
        print_json(matrix_files.matrix_output(matrix))
        return 0
    names, out = ["paper", *(column.name for column in columns)], console()
    rows = []
    for row in matrix.rows:
        shown = [plain(cell.shown(column)) for cell, column in zip(row.cells, columns, strict=True)]
        places = [f" ({place_label(row.file, cell.values[0].page)})" if cell.values else "" for cell in row.cells]
        rows.append([row.file, *map("".join, zip(shown, places, strict=True))])
    print_table(names, rows, out, wraps=names)
    for line in matrix.differences():
        put(out, plain(line))
    kept = len(matrix.rows) * len(columns) - matrix.asked
    if kept and not run.quiet:
        say(f"{counted(matrix.asked, 'cell')} asked, {counted(kept, 'cell')} kept from before.")
    return 0
