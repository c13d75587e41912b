"""Typed values out of the words that were read: numbers with their units, dates, lists, names beside the column's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragscience.core.errors import UsageError
from ragscience.review.columns import Column, converted
from ragscience.review.values import Value, beside_name, dates_on, typed, with_number


def said(kind, text, span=None, question="What was used?"):
    start = text.index(span) if span else 0
    return typed(Column("what", question, kind), text, start, start + len(span or text))


@pytest.mark.parametrize(
    ("text", "span", "value"),
    [
        ("a batch size of 448, trained", "448", "448"),
        ("a 175B parameter model", "175B", "175B"),
        ("after 3.5 days on", "3.5 days", "3.5 days"),
        ("after 3.5 days on", "3.5", "3.5"),
        ("with 12GB of memory", "12GB", "12GB"),
        ("175 billion parameters", "175 billion parameters", "175 billion parameters"),
        ("a rate of 2 × 10−4 and", "2 × 10−4", "2 × 10−4"),
        ("a rate of 6e-6 and 1 million", "6e-6 and 1 million", "6e-6"),
        ("11,817,665 URLs", "11,817,665 URLs", "11,817,665 URLs"),
        ("fell by 5% in", "by 5% in", "5%"),
    ],
)
def test_a_number_keeps_its_unit_as_printed(text, span, value):
    assert said("number", text, span) == [value]


@pytest.mark.parametrize("text", ["with ε = 10", "no number", "GPT2 and x2y"])
def test_the_value_of_a_symbol_and_the_digits_of_a_name_are_no_numbers(text):
    assert said("number", text) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("arXiv:2005.11401v4 [cs.CL] 12 Apr 2021", ["12 Apr 2021"]),
        ("Draft of October 7, 2013", ["October 7, 2013"]),
        ("on 2009-08-24", ["2009-08-24"]),
        ("at ICLR 2015", ["2015"]),
        ("(Vaswani et al., 2017)", []),
        ("as in Kingma and Ba, 2015", []),
        ("12015 bees", []),
    ],
)
def test_a_date_is_no_year_of_somebody_elses_paper(text, value):
    assert said("date", text) == value


def test_a_list_is_its_items_and_what_was_asked_is_no_value():
    assert said("list", "GLUE, SQuAD and SWAG") == ["GLUE", "SQuAD", "SWAG"]
    assert said("text", "4.2") == []
    assert said("text", "batch size", question="Which batch size?") == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("We use the MNIST dataset and the IMDB movie review data set.", ["MNIST", "IMDB"]),
        ("on the MIMIC-III [47] and ECtHR [6, 7] datasets.", ["ECtHR", "MIMIC-III"]),
        ("public NLP datasets, such as SQuADv2 and DROP, and we", ["SQuADv2", "DROP"]),
        ("QA datasets: Natural Questions (NQ) [29], TriviaQA [24]. More", ["Natural Questions", "TriviaQA"]),
        ("3.3. LAMBADA The LAMBADA dataset is", ["LAMBADA"]),
        ("We made a toy dataset. The dataset was small.", []),
    ],
)
def test_names_beside_the_columns_name_are_items(text, names):
    assert beside_name(Column("data sets", "Which data sets were used?", "list"), text) == names


def test_the_same_number_is_the_same_value_however_it_is_printed():
    column = Column("n", "How many?", "number")
    one, two, other = (with_number(column, Value(text, 1, "", 1.0)) for text in ("1.5 million", "1,500,000", "1.5"))
    assert one.same(two)
    assert not one.same(other)
    assert with_number(column, Value("−5 °C", 1, "", 1.0)).number == -5


def test_a_number_is_also_in_the_columns_unit():
    pytest.importorskip("pint", reason="pint is not installed (requirements-tables.txt)")
    column = Column("time", "How long?", "number", unit="hour")
    days, minutes, bees = (
        with_number(column, Value(text, 1, "", 1.0)) for text in ("3.5 days", "90 minutes", "7 bees")
    )
    assert (days.normal, minutes.normal, bees.normal) == (84.0, 1.5, None)
    assert days.same(with_number(column, Value("84 hours", 1, "", 1.0)))
    with pytest.raises(UsageError, match="'beehives' is no unit"):
        converted(1.0, "hour", "beehives")


def test_a_date_of_an_answer_gets_the_line_that_has_its_year():
    from types import SimpleNamespace

    answer = SimpleNamespace(blocks=[SimpleNamespace(text="It is from 2021.")], confidence="high")
    text = "Lewis et al., 2021\narXiv:2005.11401v4 [cs.CL] 12 Apr 2021\nin 2019"
    (value,) = dates_on(Column("when", "When?", "date"), answer, text)
    assert (value.text, value.page, value.quote) == ("12 Apr 2021", 1, "arXiv:2005.11401v4 [cs.CL] 12 Apr 2021")


WORDS = st.sampled_from(
    ["Adam", "data", "sets", "datasets:", "5", "3.5e-4", "×", "10−4", "GB", "and", ",", "2017", "May", "(", "="]
)


@given(
    st.lists(WORDS | st.text(max_size=6), max_size=20).map(" ".join),
    st.sampled_from(["number", "date", "list", "text"]),
)
def test_whatever_was_read_a_value_is_in_it(text, kind):
    column = Column("data sets", "Which data sets?", kind)
    for value in typed(column, text, 0, len(text)):
        assert value in text
        with_number(column, Value(value, 1, text, 1.0))
    assert all(name.split()[0] in text for name in beside_name(column, text))
