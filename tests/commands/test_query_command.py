import json

from tests.conftest import Commands
from tests.output_schemas import check_output


def test_filters_hold(asked):
    for flags, allowed in ((["--paper", "bees*"], {"bees.pdf"}), (["--paper", "kiln", "--paper", "tides"], None)):
        found = json.loads(asked.query("search", "fog glaze tide", "-k", "20", "--json", *flags).out)
        files = {hit["file"] for hit in found["hits"]}
        assert files == (allowed or {"kilns.pdf", "tides.pdf"})
    found = json.loads(asked.query("search", "brass wheel", "--pages", "3-9", "--json").out)
    assert found["hits"]
    assert all(hit["page_end"] >= 3 for hit in found["hits"])


def test_what_the_papers_do_not_say_is_refused(asked):
    ran = asked.query("ask", "Who won the chess olympiad in Batumi?", "--strict")
    assert ran.code == 4
    assert ran.out.startswith("I could not find this in your papers.")
    assert asked.query("ask", "Who won the chess olympiad in Batumi?").code == 0


def test_a_script_of_questions_keeps_its_order(asked):
    lines = (
        b'What is the mean flight speed?\n{"id": "x"}\n{"id": "t", "question": "error at Dover", "paper": "tides"}\n'
    )
    ran = asked.query("ask", "--from", "-", "--json", stdin=lines)
    first, second, third = map(json.loads, ran.out.splitlines())
    assert ran.code == 3
    assert "3.7" in first["answer"]
    check_output(second, "error")
    assert (second["id"], third["id"]) == ("x", "t")
    assert "12 centimetres" in third["answer"]


def test_an_empty_library_refuses_and_says_what_to_do(commands):
    ran = commands.query("Anything?")
    assert ran.code == 0
    assert "I could not find this in your papers." in ran.out
    assert "python ingest.py" in ran.err
    assert not (commands.home / "vectorstore").exists()


HEAVY = {"torch", "transformers", "sentence_transformers", "langchain", "langchain_core", "langchain_classic"}


def test_help_imports_nothing_heavy(library):
    modules = Commands(library).imported_by("query.py", "--help")
    assert not modules & (HEAVY | {"faiss", "pymupdf", "onnxruntime", "numpy", "pydantic"})


def test_a_search_imports_no_torch_and_no_langchain(library):
    modules = Commands(library).imported_by("query.py", "search", "fog", "--json")
    assert not modules & (HEAVY | {"pymupdf", "onnx", "scipy"})
    assert "onnxruntime" in modules
