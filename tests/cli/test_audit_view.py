"""What `query.py audit` prints, of records made by hand."""

import json

import pytest

from ragscience.cli.history_commands import list_audited, show_audited
from ragscience.core.errors import NothingFound
from ragscience.core.records import Citation, Sentence
from ragscience.engine import Engine
from ragscience.library.history import History, KeptAnswer
from ragscience.library.store import Home
from tests.conftest import Commands
from tests.library.answers_made import answer, paper, record


@pytest.fixture
def home(tmp_path):
    (tmp_path / "vectorstore").mkdir()
    return Home(tmp_path)


@pytest.fixture
def engine(home):
    with Engine.open(home.root) as opened:
        yield opened


class Log:
    """Keeps records, each with a turn, as asking does."""

    def __init__(self, path):
        self.path = path

    def append(self, made):
        with History.open_for_writing(self.path) as history:
            history.add([KeptAnswer(None, made["at"], answer(answer_id=made["answer_id"]), made)])


@pytest.fixture
def log(home):
    return Log(home.history)


def test_the_list_has_the_newest_first_and_safe_words(engine, home, log, capsys):
    log.append(record(answer_id="a" * 12, question="Old?\x1b[31m\nred", refused=True))
    unsure = (Sentence("So:", "no-claim", 0.0, None), Sentence("Fast.", "weak", 0.4, None))
    quotes = (Sentence("One.", "quote", 1.0, None), Sentence("Two.", "quote", 1.0, None))
    log.append(record(answer_id="c" * 12, question="Quoted?", sentences=quotes))
    log.append(record(answer_id="b" * 12, question="New?", sentences=unsure))
    log.append(record(answer_id="d" * 12, question="Which papers?", sentences=()))
    assert list_audited(engine, 20, as_json=False) == 0
    out = capsys.readouterr().out
    assert out.index("b" * 12) < out.index("a" * 12)
    assert "\x1b[31m" not in out
    assert "refused" in out
    assert "0 of 1" in out
    assert "2 quotes" in out
    assert "not checked" in out
    assert "2026-01-31 09:05" in out
    list_audited(engine, 1, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert [item["answer_id"] for item in told["answers"]] == ["d" * 12]
    list_audited(engine, 2, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert told["answers"][1] == {
        "answer_id": "b" * 12, "at": "2026-01-31T09:05:00+00:00", "question": "New?", "mode": "extractive",
        "refused": False, "agent": False, "trace_id": "", "passages": 1,
    }  # fmt: skip


def test_one_answer_is_shown_with_all_that_was_kept(engine, home, log, capsys):
    depends_on = {
        "filters": {"papers": ["bees"], "pages": [1, 2]},
        "history": [{"question": "Before?", "answer": "Yes.", "passages": []}],
        "strict": True, "agent": True, "k": 6, "second_look": "ambiguous",
    }  # fmt: skip
    bare = Citation("kilns.pdf", 3, "", False)
    sentences = (Sentence("Fast.", "supported", 0.95, None), Sentence("Hot.", "weak", 0.4, bare))
    made = record(
        answer_id="a" * 12,
        warnings=("something\nwas missing",),
        depends_on=depends_on,
        papers={1: paper(url="https://example.org/bees.pdf")},
        sentences=sentences,
        trace_id="9" * 32,
    )
    log.append(made | {"second_look": "ambiguous"})
    assert show_audited(engine, "aaa", as_json=False) == 0
    out = " ".join(capsys.readouterr().out.split())
    for wanted in (
        "> How fast?", "9" * 32, "agent yes", "mode extractive", "profile default", "strict yes", "k 6",
        "answerability 0.8", "second look ambiguous", "papers bees, pages 1, 2", "question Before?", "ab" * 32,
        "id cafe, generation 4", "1.2.3", "dense_ms 1.5", "prompt 10", "top_k 4", "1 bees.pdf, p.2",
        "score 0.900000 dense 0.610000 fused 0.900000 by dense", "/papers/bees.pdf", "https://example.org/bees.pdf",
        "0" * 32 + ":100-141", "(This paper is no longer in the library.)", "supported 0.95 Fast.",
        "weak 0.40 Hot. kilns.pdf, p.3", "warning: something was missing",
    ):  # fmt: skip
        assert wanted in out
    assert show_audited(engine, "a", as_json=True) == 0
    assert json.loads(capsys.readouterr().out) == made | {"second_look": "ambiguous"}


def test_nothing_is_nothing(engine, capsys):
    assert list_audited(engine, 20, as_json=False) == 0
    assert "The audit log has no answers yet." in capsys.readouterr().err
    for key in ("zz", "", " "):
        with pytest.raises(NothingFound, match="The audit log has no answer"):
            engine.history.audit_record(key)


def test_deleting_says_what_went(home, log):
    log.append(record())
    said = [Commands(home.root).query("audit", "--delete-all", "--yes").err for _ in range(2)]
    assert said == ["1 audit record deleted.\n", "The audit log has no answers.\n"]
