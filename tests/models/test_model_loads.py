"""How often a model is loaded: counted, since each load costs what a whole search should cost."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ragscience.models.maxsim import compress, maxsim, question_tokens
from ragscience.models.minilm import MiniLM

QUESTION = "How many layers does the encoder have?"
PASSAGE = "The encoder is a stack of six layers. " * 30


def test_one_search_with_stored_vectors_loads_the_embedded_model_once(minilm, model_cache):
    stored = minilm.embed_with_tokens(["The encoder is a stack of six layers.", "Cells divide."])
    asked_by = MiniLM(cache_folder=model_cache, on_warning=pytest.fail)
    assert asked_by.sessions_opened == 0
    (question,) = asked_by.embed_with_tokens([QUESTION])
    scores = maxsim(question_tokens(question), [compress(each) for each in stored])
    assert int(np.argmax(scores)) == 0
    for follow_up in ("And the decoder?", "Which BLEU score does it reach?"):
        asked_by.embed_query(follow_up)
    assert asked_by.sessions_opened == 1


def test_larger_work_loads_once_more_and_then_never_again(minilm, model_cache):
    embedder = MiniLM(cache_folder=model_cache, on_warning=pytest.fail)
    embedder.embed_query(QUESTION)
    embedder.embed_documents([f"{PASSAGE} {number}" for number in range(4)])
    embedder.embed_query(QUESTION)
    embedder.embed_documents([f"{PASSAGE} {number}" for number in range(3)])
    assert embedder.sessions_opened == 2
    ingesting = MiniLM(cache_folder=model_cache, on_warning=pytest.fail)
    ingesting.embed_documents([f"{PASSAGE} {number}" for number in range(4)])
    assert ingesting.sessions_opened == 1


def test_a_question_has_the_same_vector_whatever_ran_before_and_beside_it(model_cache):
    alone = MiniLM(cache_folder=model_cache, on_warning=pytest.fail).embed_query(QUESTION)
    shared = MiniLM(cache_folder=model_cache, on_warning=pytest.fail)
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(shared.embed_query, QUESTION) for _ in range(8)]
        ingested = pool.submit(shared.embed_documents, [f"{PASSAGE} {number}" for number in range(4)])
        asked += [pool.submit(shared.embed_query, QUESTION) for _ in range(8)]
        assert all(np.array_equal(one.result(), alone) for one in asked)
        ingested.result()
    assert np.array_equal(shared.embed_query(QUESTION), alone)
    assert shared.sessions_opened == 2
