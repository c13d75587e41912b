"""Late interaction over a real library with the real embedded model."""

import hashlib
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from ragscience.core.errors import ModelProblem
from ragscience.core.records import Document, Filters, Page, Profile
from ragscience.library.store import Home, Library, NewPaper, text_hash
from ragscience.models.maxsim import compress, maxsim
from ragscience.models.minilm import MiniLM
from ragscience.reading.chunking import chunk_document
from ragscience.search.hybrid_search import SearchModels, search

TEXTS = [
    "Honeybees steer by polarised light. In dense fog they fly at 3.7 metres per second.",
    "Porcelain glaze matures at 1280 degrees, and cobalt oxide colours it blue.",
    "The tide machine at Dover sums ten harmonic constituents on brass wheels.",
    "Fog in the harbour kept the ferries waiting for the tide.",
]
PROFILE = Profile("default", 20, 20, "weighted", 0.7, 0.3, 20, 4)


class Counting(MiniLM):
    """The embedded model; remembers what it was given."""

    def __init__(self, **more):
        super().__init__(**more)
        self.read = []

    def embed_with_tokens(self, texts):
        self.read.append(list(texts))
        return super().embed_with_tokens(texts)

    def questions(self, texts):
        self.read.append(list(texts))
        return super().questions(texts)


@pytest.fixture(scope="module")
def model(model_cache):
    return Counting(cache_folder=model_cache, on_warning=pytest.fail)


@pytest.fixture
def home(tmp_path, model):
    """The texts as one paper each; all but the last have stored token vectors."""
    home = Home(tmp_path)
    with Library.open_for_writing(home) as library:
        library.set_identity(model.identity, "whole")
        for number, text in enumerate(TEXTS):
            document = Document(text, (Page(1, 0, len(text)),))
            (each,) = model.embed_with_tokens([text])
            library.add_paper(
                NewPaper(
                    path=f"/papers/{number}.pdf",
                    md5=hashlib.md5(text.encode()).hexdigest(),
                    size_bytes=1,
                    modified_ns=1,
                    document=document,
                    chunks=chunk_document(document, size=1500, overlap=200),
                    vectors=each.vector[np.newaxis],
                    tokens={text_hash(text): compress(each)} if number < 3 else {},
                )
            )
        library.refresh_indexes()
    model.read.clear()
    return home


def found(library, model, tokens_from, question="How fast do honeybees fly in fog?"):
    return search(
        question, library=library, models=SearchModels(model, tokens_from), profile=PROFILE, filters=Filters()
    )


def test_the_score_is_half_maxsim_and_half_fused(home, model):
    with Library.open(home) as library:
        result = found(library, model, model)
        stored = library.tokens.of([1, 2, 3])
    (asked,) = model.questions(["How fast do honeybees fly in fog?"])
    (last,) = model.embed_with_tokens([TEXTS[3]])
    passages = [stored[1], stored[2], stored[3], compress(last)]
    sims = maxsim(asked, passages)
    fused = {hit.chunk.chunk_id: hit.scores["fused"] for hit in result.hits}
    low, high = min(fused.values()), max(fused.values())
    for hit in result.hits:
        sim = (sims[hit.chunk.chunk_id - 1] - sims.min()) / (sims.max() - sims.min())
        expected = 0.5 * sim + 0.5 * (fused[hit.chunk.chunk_id] - low) / (high - low)
        assert hit.scores["rerank"] == pytest.approx(expected, abs=1e-5)
    assert result.hits[0].chunk.text == TEXTS[0]
    assert [hit.score for hit in result.hits] == sorted((hit.score for hit in result.hits), reverse=True)


def test_a_question_is_one_pass_and_only_what_has_no_tokens_is_read(home, model):
    with Library.open(home) as library:
        found(library, model, model)
    assert model.read == [["How fast do honeybees fly in fog?"], [TEXTS[3]]]


def test_damaged_token_vectors_are_made_anew_for_the_question(home, model):
    with closing(sqlite3.connect(home.database)) as db, db:
        db.execute("UPDATE tokens SET row = zeroblob(LENGTH(row))")
    with Library.open(home) as library:
        result = found(library, model, model)
    assert len(model.read[1]) == 4
    assert result.hits[0].chunk.text == TEXTS[0]


class Another:
    """An embedder of another kind over the same vectors; `fails`: it raises."""

    def __init__(self, model, *, fails=False):
        self.identity, self._model, self._fails = model.identity, model, fails

    def embed_query(self, text):
        if self._fails:
            raise ModelProblem("The server is down.")
        return self._model.embed_query(text)


class Broken(Counting):
    def questions(self, texts):
        raise ModelProblem("Its file is damaged.")


def test_the_token_vectors_rerank_what_the_words_found_where_the_embedder_fails(home, model):
    with Library.open(home) as library:
        result = found(library, Another(model, fails=True), model, question="Do honeybees fly to ferries?")
    assert {hit.chunk.chunk_id for hit in result.hits} == {1, 4}
    assert all(hit.scores["rerank"] is not None and hit.scores["dense"] is None for hit in result.hits)
    assert "maxsim" in result.signals
    assert len(result.warnings) == 1


def test_a_model_of_token_vectors_that_fails_is_left_out_and_that_is_said(home, model, model_cache):
    broken = Broken(cache_folder=model_cache, on_warning=pytest.fail)
    with Library.open(home) as library:
        without = found(library, model, None)
        result = found(library, Another(model), broken)
        alone = found(library, broken, broken)
    assert [hit.scores for hit in result.hits] == [hit.scores for hit in without.hits]
    assert result.warnings == ("Late interaction is left out, because its model failed: Its file is damaged.",)
    assert [warning[:20] for warning in alone.warnings] == ["The embedder failed,"]
    assert alone.hits[0].chunk.text == TEXTS[0]
