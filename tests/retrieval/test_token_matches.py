"""Where in a passage the words of a question match."""

import pytest

from ragscience.models.maxsim import compress
from ragscience.models.minilm import MiniLM
from ragscience.retrieval import token_matches
from tests.answering.passages import hit

TEXT = "Honeybees steer by polarised light. The harmonic constituents of a tide are summed on brass wheels."


@pytest.fixture(scope="module")
def model(model_cache):
    return MiniLM(cache_folder=model_cache, on_warning=pytest.fail)


class Stored:
    """A library's token vectors, of the texts as given."""

    def __init__(self, model, **texts):
        self.rows = {int(key[1:]): compress(model.embed_with_tokens([text])[0]) for key, text in texts.items()}

    def token_vectors(self, ids):
        return {chunk_id: self.rows[chunk_id] for chunk_id in ids if chunk_id in self.rows}


def test_each_word_of_the_question_fits_the_sentence_that_is_about_it(model):
    chunk = hit(TEXT).chunk
    question = "honeybees, tides"
    found = token_matches(question, [chunk], library=Stored(model, _1=TEXT), tokens_from=model)
    words = [question[a:b] for a, b in found.asked]
    assert "".join(words) == "honeybeestides"
    passage = found.passages[1]
    cut = TEXT.index("The harmonic")
    first, second = passage.best(0, cut), passage.best(cut, len(TEXT))
    bee, tide = words.index("honey"), len(words) - 1
    assert first[bee] > second[bee] and second[tide] > first[tide]
    assert passage.best(None, len(TEXT)) == tuple(map(max, first, second))
    assert passage.best(3, 4) == (-1.0,) * len(words)
    assert [TEXT[a:b].casefold() for a, b in passage.places.tolist()][:2] == ["honey", "bee"]


def test_token_vectors_of_another_text_or_of_none_are_left_out(model):
    one, other = hit(TEXT).chunk, hit(TEXT, rank=2).chunk
    library = Stored(model, _1="Something else stood here.")
    assert token_matches("tides", [one, other], library=library, tokens_from=model).passages == {}


def test_a_question_of_stop_words_matches_nothing(model):
    found = token_matches("What is it?", [hit(TEXT).chunk], library=Stored(model, _1=TEXT), tokens_from=model)
    assert found.asked == () and found.passages == {}
