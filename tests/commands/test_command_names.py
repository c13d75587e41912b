"""Which command a line runs: joined words, options in front, mistyped names, a word that begins a question."""

import pytest

from tests.conftest import Commands


@pytest.fixture(scope="module")
def asked(library):
    return Commands(library)


@pytest.mark.parametrize(
    "words",
    [
        ["how", "fast", "do", "bees", "fly", "in", "fog"],
        ["how", "fast", "--paper", "bees", "do", "bees", "fly", "in", "fog"],
        ["ask", "how", "fast", "do", "bees", "fly", "in", "fog"],
        ["--paper", "bees", "ask", "how fast do bees", "fly in fog"],
        ["models of how fast bees fly in fog"],
    ],
)
def test_words_are_one_question(asked, words):
    ran = asked.query(*words, "--no-history")
    assert ran.code == 0, ran
    assert "3.7 metres per second" in ran.out.replace("**", "")


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["serach", "fog"], "python query.py search fog"),
        (["hsitory"], "python query.py history"),
        (["profile"], "python query.py profiles"),
        (["history", "lits"], "python query.py history list"),
        (["config", "sett", "top_k", "3"], "python query.py config set top_k 3"),
    ],
)
def test_a_mistyped_command_is_refused(asked, words, meant):
    ran = asked.query(*words)
    assert (ran.code, ran.out) == (2, "")
    assert f"Did you mean `{meant}`?" in ran.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["models", "of", "attention?"], "Got unexpected extra argument(s) (of attention?)."),
        (["open", "problems"], "Invalid value for 'N'"),
        (["graph", "label", "smoothing"], "Got unexpected extra argument(s) (smoothing)."),
    ],
)
def test_a_question_that_begins_with_a_commands_name_is_told_of_ask(asked, words, said):
    ran = asked.query(*words)
    assert (ran.code, said in ran.err) == (2, True), ran
    assert "`python query.py ask …` always asks a question." in ran.err
    assert asked.query("ask", *words, "--no-history").code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["search", "fog", "--papr", "bees"], "No such option: --papr (Possible options: --pages, --paper, --year)."),
        (["--verison"], "No such option: --verison"),
        (["config", "topk"], "There is no setting topk.\n       Did you mean top_k?"),
        (["search", "fog", "--top-k", "3"], "No such option: --top-k."),
        (["search", "fog", "-k", "many"], "Invalid value for '-k'"),
        (["search", "fog", "--paper"], "Option '--paper' requires an argument."),
        (["related"], "Missing argument 'PAPER'."),
    ],
)
def test_a_wrong_option_is_said_in_plain_words(asked, words, said):
    ran = asked.query(*words)
    assert (ran.code, said in ran.err) == (2, True), ran.err
