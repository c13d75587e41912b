"""What is kept of an answer, and what never is."""

import hashlib
import json
import math

import pytest

from ragscience.core.records import Filters, FoundPath, PathStep, Turn
from ragscience.library.audit import Request, place_of, without_credentials
from tests.audit.making import circumstances, paper, record
from tests.conftest import ROOT
from tests.history.making import answer, chunk


def test_a_passage_is_named_by_its_file_and_place_with_every_score():
    (passage,) = record(papers={1: paper(md5="d" * 32, url="https://me:pw@example.org/a.pdf?key=1")})["passages"]
    text = "The mean speed was 3.7 metres per second."
    assert passage == {
        "rank": 1, "md5": "d" * 32, "start": 100, "end": 100 + len(text), "chunk_id": 7, "file": "bees.pdf",
        "path": "/papers/bees.pdf", "url": "https://example.org/a.pdf", "page_start": 2, "page_end": 2, "section": "",
        "kind": "text", "text_sha256": hashlib.sha256(text.encode()).hexdigest(), "score": 0.9,
        "scores": {"dense": 0.61, "bm25": None, "fused": 0.9, "rerank": None}, "found_by": ["dense"],
    }  # fmt: skip


def test_a_paper_that_has_just_left_leaves_no_name_of_its_file():
    (passage,) = record(papers={})["passages"]
    assert (passage["md5"], passage["url"], passage["path"]) == ("", "", "/papers/bees.pdf")
    assert place_of(chunk("x"), None) == {"md5": "", "start": 100, "end": 101}


def test_all_that_a_replay_and_a_reader_need_is_there():
    turns = (Turn("Before?", "Yes.", (7, 8)),)
    request = Request(Filters(papers=("bees",), pages=(2, 3)), turns, strict=True, agent=True)
    under = circumstances(wanted=6, digests={"llm": "ef" * 32}, warnings=("said", "a warning"))
    place = {"md5": "0" * 32, "start": 1, "end": 2}
    models = {"embedder": "all-MiniLM-L6-v2", "reranker": "late interaction", "llm": "llama3.1:8b"}
    made = record(request=request, under=under, earlier={7: place}, models=models, question="How?", trace_id="9" * 32)
    assert (made["question"], made["searched"], made["k"], made["trace_id"]) == ("How?", "searched: How?", 6, "9" * 32)
    assert made["history"] == [{"question": "Before?", "answer": "Yes.", "passages": [place]}]
    assert (made["strict"], made["agent"], made["program"]) == (True, True, "1.2.3")
    assert made["filters"]["papers"] == ["bees"]
    assert made["filters"]["pages"] == [2, 3]
    assert made["models"] == {
        "embedder": {"name": "all-MiniLM-L6-v2", "digest": "ab" * 32},
        "reranker": {"name": "late interaction", "digest": None},
        "llm": {"name": "llama3.1:8b", "digest": "ef" * 32},
    }
    assert made["library"]["generation"] == 4
    assert made["library"]["embedder"]["dimension"] == 384
    assert made["warnings"] == ["a warning", "said"]
    assert made["timings_ms"] == {"dense_ms": 1.5, "total_ms": 12.0}
    assert made["citations"][0]["quote"] == "3.7 metres per second"
    assert made["sentences"][0]["verdict"] == "supported"
    assert made["sentences"][0]["evidence"]["page"] == 2
    assert json.loads(json.dumps(made, allow_nan=False)) == made


def test_without_a_library_or_with_odd_numbers_it_is_still_json():
    found = answer().found
    paths = (FoundPath((PathStep("a", "USES", "b", (("bees.pdf", 1),)),), math.inf),)
    odd = type(found)(found.question, found.profile, (), timings_ms={"x": math.nan}, paths=paths)
    under = circumstances(embedder=None, chunker=None, library_id="", generation=0)
    made = record(found=odd, under=under, sentences=(), papers={}, models={"embedder": None})
    assert made["timings_ms"] == {"x": None, "total_ms": 12.0}
    assert made["paths"][0]["score"] is None
    assert made["paths"][0]["steps"][0]["pages"] == [["bees.pdf", 1]]
    assert made["library"] == {"id": "", "generation": 0, "chunker": None, "embedder": None}
    assert made["models"] == {"embedder": None}


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


def test_no_secret_of_a_setting_gets_into_a_record_by_any_way():
    url = "http://me:hunter2@host:11434"
    under = circumstances(settings={"ollama_url": url, "answer_rules": f"see {url}"}, warnings=(f"{url} is down",))
    assert "hunter2" not in json.dumps(record(under=under, models={"llm": f"x at {url}"}))


def test_every_field_is_in_the_documentation():
    text = (ROOT / "docs" / "audit.md").read_text()
    made = record()
    assert [name for name in (*made, *made["passages"][0], *made["library"]) if f"`{name}`" not in text] == []
