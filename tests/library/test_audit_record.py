"""What is kept of an answer, and what never is."""

import pytest

from ragscience.library.history_database import place_of, without_credentials
from tests.conftest import ROOT
from tests.library.answers_made import chunk, record


def test_a_paper_that_has_just_left_leaves_no_name_of_its_file():
    (passage,) = record(papers={})["passages"]
    assert (passage["md5"], passage["url"], passage["path"]) == ("", "", "/papers/bees.pdf")
    assert place_of(chunk("x"), None) == {"md5": "", "start": 100, "end": 101}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("http://me:secret@host:1/v1", "http://host:1/v1"),
        ("https://secret@host", "https://host"),
        ("https://a:p@ss@host/x", "https://host/x"),
        ("https://host/x?token=secret#y", "https://host/x"),
        (
            "Ollama does not answer at http://me:secret@host: start it",
            "Ollama does not answer at http://host: start it",
        ),
        ("an@example.org asks a@b?", "an@example.org asks a@b?"),
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434"),
    ],
)
def test_no_user_and_password_of_a_url_are_kept(text, kept):
    assert without_credentials(text) == kept
    assert without_credentials({"a": [text, 1, None]}) == {"a": [kept, 1, None]}


def test_warnings_come_once_and_without_secrets():
    made = record(warnings=("http://me:hunter2@host:11434 is down", "a warning"))
    assert made["warnings"] == ["a warning", "http://host:11434 is down"]


def test_every_field_is_in_the_documentation():
    text = (ROOT / "docs" / "audit.md").read_text()
    made = record()
    assert [name for name in (*made, *made["passages"][0], *made["library"]) if f"`{name}`" not in text] == []
