"""`query.py models pull NAME`, the settings that name a known model, and the library that it makes."""

import dataclasses
import json

import pytest

from ragscience.models import model_download
from tests.commands.papers import BEES
from tests.conftest import Commands
from tests.models.conftest import make_bert
from tests.models.test_model_download import serving
from tests.pdf_factory import make_pdf

BGE = "bge-small-en-v1.5"


@pytest.fixture
def commands(tmp_path):
    (tmp_path / "home").mkdir()
    return Commands(tmp_path / "home")


@pytest.fixture
def hub(tmp_path, monkeypatch):
    folder = make_bert(tmp_path / "source", labels=0)
    with serving(folder, f"BAAI/{BGE}", monkeypatch, tmp_path / "hub") as handler:
        yield handler


def embedder(commands):
    return next(
        row for row in json.loads(commands.query("models", "--json").out)["models"] if row["part"] == "embedder"
    )


def test_a_known_model_is_fetched_named_and_used(commands, hub, tmp_path):
    assert commands.query("config", "set", "embedding_model", BGE).code == 0
    missing = embedder(commands)
    assert (missing["model"], f"models pull BAAI/{BGE}" in missing["warning"]) == (None, True)
    fetched = commands.query("models", "pull", BGE)
    assert fetched.code == 0, fetched.err
    assert f"config set embedding_model {BGE}" in fetched.err
    asked = len(hub.asked)
    found = commands.query("models", "pull", BGE, "--offline")
    assert (found.code, f"{BGE} is in {tmp_path / 'hub'}" in found.err, len(hub.asked)) == (0, True, asked)
    paper = make_pdf(tmp_path / "bees.pdf", BEES)
    assert commands.ingest("add", str(paper)).code == 0
    assert embedder(commands)["model"] == f"BAAI/{BGE}"
    found = json.loads(commands.query("search", "speed of bees in fog", "--json").out)
    assert [hit["file"] for hit in found["hits"]] == ["bees.pdf"] * len(found["hits"])


def test_a_library_of_another_pooling_is_refused_and_made_anew(commands, hub, tmp_path, monkeypatch):
    monkeypatch.setenv("RAG_EMBEDDING_MODEL", BGE)
    commands.query("models", "pull", BGE)
    commands.ingest("add", str(make_pdf(tmp_path / "bees.pdf", BEES)))
    rows = {**model_download.known_models(), BGE: dataclasses.replace(model_download.known_model(BGE), pooling="mean")}
    monkeypatch.setattr(model_download, "known_models", lambda: rows)
    refused = commands.ingest("add", str(make_pdf(tmp_path / "again.pdf", BEES[::-1])))
    assert (refused.code, "rebuild --embeddings" in refused.err) == (5, True)
    assert commands.ingest("rebuild", "--embeddings").code == 0
    assert commands.ingest("add", str(tmp_path / "again.pdf")).code == 0
