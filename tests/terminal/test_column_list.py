"""Lists of records: on a terminal within its width, in a pipe whole."""

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from ragscience.cli.column_list import Column, list_records

COLUMNS = (Column("who", least=8), Column("pages", is_number=True), Column("title", least=10))
ROWS = (("Kingma & Ba", "15", "Adam: A Method for Stochastic Optimization"), ("Kleinberg", "34", "Sources"))


def shown(rows=ROWS, columns=COLUMNS, *, width=80, tty=True, encoding="utf-8"):
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    list_records(columns, rows, Console(file=out, width=width, force_terminal=tty, color_system=None))
    out.flush()
    return out.buffer.getvalue().decode(encoding)


def test_on_a_terminal_there_are_headings_and_a_title_is_cut_behind_a_word():
    assert shown(width=44).splitlines() == [
        "who          pages  title",
        "Kingma & Ba     15  Adam: A Method for…",
        "Kleinberg       34  Sources",
    ]
    assert "Adam: A Method for..." in shown(width=44, encoding="ascii")


def test_in_a_pipe_fields_stand_whole_between_tabs():
    assert shown(tty=False, width=20) == (
        "Kingma & Ba\t15\tAdam: A Method for Stochastic Optimization\nKleinberg\t34\tSources\n"
    )


def test_no_field_ends_a_line_or_another_field():
    assert shown([("a\nb", "1", "c\td \x1b[2J")], tty=False) == "a b\t1\tc d ␛[2J\n"


def test_nothing_is_printed_of_no_records():
    assert shown([]) == ""


@given(
    st.lists(st.tuples(st.text(max_size=30), st.integers(0, 10**6).map(str), st.text(max_size=90)), min_size=1),
    st.integers(20, 250),
)
def test_every_line_fits(rows, width):
    made = shown(rows, width=width).splitlines()
    assert all(cell_len(line) <= width for line in made)
