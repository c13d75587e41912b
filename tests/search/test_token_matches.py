"""Where in a passage the words of a question match, over a real library with the real embedded model."""

import hashlib

import numpy as np
import pytest

from ragscience.core.records import Document, Page
from ragscience.library.store import Home, Library, NewPaper, text_hash
from ragscience.models.maxsim import compress
from ragscience.models.minilm import MiniLM
from ragscience.reading.chunking import chunk_document
from ragscience.search.reranking import token_matches

TEXT = "Honeybees steer by polarised light. The harmonic constituents of a tide are summed on brass wheels."


@pytest.fixture(scope="module")
def model(model_cache):
    return MiniLM(cache_folder=model_cache, on_warning=pytest.fail)


@pytest.fixture
def library_of(tmp_path, model):
    """Makes a library of TEXT with its own token vectors (empty), those of another text, or none (None)."""
    opened = []

    def make(kept, *, title="Tides and Bees of Dover"):
        home = Home(tmp_path)
        document = Document(TEXT, (Page(1, 0, len(TEXT)),), title)
        (each,) = model.embed_with_tokens([TEXT])
        chunks = chunk_document(document, size=1500, overlap=200)
        tokens = (
            {}
            if kept is None
            else {text_hash(chunks[0].searched): compress(*model.embed_with_tokens([kept or chunks[0].searched]))}
        )
        with Library.open_for_writing(home) as library:
            library.set_identity(model.identity, "whole")
            md5 = hashlib.md5(TEXT.encode()).hexdigest()
            vectors = each.vector[np.newaxis]
            library.add_paper(
                NewPaper("/papers/dover.pdf", md5, 1, 1, document, chunks, vectors=vectors, tokens=tokens)
            )
            library.refresh_indexes()
        opened.append(Library.open(home))
        return opened[-1]

    yield make
    for library in opened:
        library.close()


def matched(library, model, question):
    chunks = list(library.chunks([1]))
    return token_matches(question, chunks, library=library, tokens_from=model)


def test_each_word_of_the_question_fits_the_sentence_that_is_about_it(model, library_of):
    question = "honeybees, tides"
    library = library_of("")
    found = matched(library, model, question)
    words = [question[a:b] for a, b in found.asked]
    assert "".join(words) == "honeybees,tides"
    (passage,) = found.passages.values()
    cut = TEXT.index("The harmonic")
    first, second = passage.best(0, cut), passage.best(cut, len(TEXT))
    bee, tide = words.index("honey"), len(words) - 1
    assert first[bee] > second[bee] and second[tide] > first[tide]
    assert passage.best(None, 0)[bee] < passage.best(None, len(TEXT))[bee] == first[bee]
    assert passage.best(3, 4) == (-1.0,) * len(words)
    assert [TEXT[a:b].casefold() for a, b in passage.places.tolist() if a >= 0][:2] == ["honey", "bee"]


def test_the_papers_that_the_question_names_are_told(model, library_of):
    library = library_of("")
    assert matched(library, model, "What steers bees?").names == {}
    names = matched(library, model, "What is summed in Tides and Bees of Dover?").names
    assert names == {1: ("Tides and Bees of Dover",)}
