"""What is kept of an answer, what never is, and what differs between two records, each difference in its own words."""

import copy
import json
import math

import pytest

from ragscience.core.records import FoundPath, PathStep
from ragscience.library.audit import compare, place_of, without_credentials
from tests.conftest import ROOT
from tests.library.answers_made import answer, chunk, record


def test_a_paper_that_has_just_left_leaves_no_name_of_its_file():
    (passage,) = record(papers={})["passages"]
    assert (passage["md5"], passage["url"], passage["path"]) == ("", "", "/papers/bees.pdf")
    assert place_of(chunk("x"), None) == {"md5": "", "start": 100, "end": 101}


def test_odd_numbers_are_still_json():
    found = answer().found
    paths = (FoundPath((PathStep("a", "USES", "b", (("bees.pdf", 1),)),), math.inf),)
    odd = type(found)(found.question, found.profile, (), timings_ms={"x": math.nan}, paths=paths)
    made = record(found=odd, papers={})
    assert made["timings_ms"] == {"x": None, "total_ms": 12.0}
    assert made["paths"][0]["score"] is None
    assert made["paths"][0]["steps"][0]["pages"] == [["bees.pdf", 1]]
    assert json.loads(json.dumps(made, allow_nan=False)) == made


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


# Two records

BEFORE = record(answer_id="a" * 12)


def changed(change):
    after = copy.deepcopy(BEFORE)
    change(after)
    return [(item.kind, item.is_outcome) for item in compare(BEFORE, after)]


def put(where, name, value):
    where[name] = value


def test_another_answer_with_the_same_content_is_the_same():
    again = record(answer_id="b" * 12, trace_id="1" * 32, timings_ms={"total_ms": 99.0}, tokens={"prompt": 11})
    again["at"] = "2027-01-01T00:00:00+00:00"
    again["warnings"] = ["something else"]
    assert compare(BEFORE, again) == []


@pytest.mark.parametrize(
    ("change", "kind", "is_outcome"),
    [
        (lambda r: r["passages"].clear(), "passage left", True),
        (lambda r: r["passages"].append(r["passages"][0] | {"start": 5, "rank": 2}), "passage came", True),
        (lambda r: put(r["passages"][0], "rank", 3), "passage moved", True),
        (lambda r: put(r["passages"][0], "text_sha256", "f"), "passage text", True),
        (lambda r: put(r["passages"][0], "path", "/elsewhere"), "path", False),
        (lambda r: put(r["passages"][0], "score", 0.9 + 2e-6), "passage score", True),
        (lambda r: put(r["passages"][0]["scores"], "dense", 0.62), "passage score", True),
        (lambda r: put(r["passages"][0]["scores"], "rerank", 0.1), "passage score", True),
        (lambda r: put(r["passages"][0]["scores"], "graph", 0.1), "passage score", True),
        (lambda r: r["passages"][0]["scores"].pop("fused"), "passage score", True),
        (lambda r: put(r, "searched", "other words"), "searched", True),
        (lambda r: put(r, "second_look", "ambiguous"), "second look", True),
        (lambda r: put(r, "mode", "llm"), "mode", True),
        (lambda r: put(r, "refused", True), "refused", True),
        (lambda r: put(r, "answer", "3.7 m/s"), "answer", True),
        (lambda r: put(r["sentences"][0], "verdict", "weak"), "verdict", True),
        (lambda r: put(r["citations"][0], "supported", False), "citation", True),
        (lambda r: r["citations"].clear(), "citation", True),
        (lambda r: r["citations"].append(r["citations"][0] | {"page": 9}), "citation", True),
        (lambda r: put(r["library"], "generation", 5), "library", False),
        (lambda r: put(r["library"], "id", "beef"), "library", False),
        (lambda r: put(r["library"], "chunker", "other"), "library", False),
        (lambda r: put(r["models"]["embedder"], "digest", "cd" * 32), "model", False),
        (lambda r: put(r["models"], "llm", {"name": "llama3.1:8b", "digest": None}), "model", False),
        (lambda r: put(r["settings"], "top_k", 5), "setting", False),
        (lambda r: r["settings"].pop("top_k"), "setting", False),
        (lambda r: put(r, "k", 5), "setting", False),
        (lambda r: put(r, "program", "9"), "version", False),
    ],
)
def test_each_change_is_said_once_in_its_kind(change, kind, is_outcome):
    assert changed(change) == [(kind, is_outcome)]


def test_scores_that_are_as_good_as_equal_are_equal():
    assert changed(lambda r: put(r["passages"][0], "score", 0.9 + 0.9e-6)) == []


def test_the_same_bytes_elsewhere_are_the_same_passage_and_other_bytes_at_one_path_are_not():
    assert changed(lambda r: put(r["passages"][0], "md5", "f" * 32)) == [("passage left", True), ("passage came", True)]


def test_an_answer_is_compared_sentence_by_sentence():
    def of(*texts):
        sentence = answer().sentences[0]
        made = [type(sentence)(text, sentence.verdict, sentence.score, sentence.evidence) for text in texts]
        return record(text=" ".join(texts), sentences=tuple(made))

    found = compare(of("One.", "Two.", "Three."), of("One.", "2.", "Three.", "Four."))
    assert [item.message for item in found] == ["- Two.", "+ 2.", "+ Four."]
    refusal = record(text="Not in these papers.", sentences=(), refused=True)
    assert [item.kind for item in compare(refusal, of("One."))] == ["refused", "answer", "answer"]
    assert "is refused now" in compare(of("One."), refusal)[0].message
