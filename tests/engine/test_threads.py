"""One engine, many threads, and a writer beside them: every answer is the one that a question alone gets."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from ragscience import AskRequest, Engine, SearchRequest
from ragscience.core.records import Chunk, Document, Page
from ragscience.core.settings import load_settings
from ragscience.library.store import Home, Library, NewPaper
from ragscience.models.minilm import MiniLM
from tests.conftest import copied

THREADS = 8
SUBJECTS = ("fog", "glaze", "tide", "radar", "cobalt", "brass wheel", "honeybees", "porcelain", "Dover", "harmonic")
FORMS = ("What is said of {}?", "How was {} measured?", "Why does {} matter?", "Which number belongs to {}?", "{}")
ASKED = tuple(form.format(subject) for subject in SUBJECTS for form in FORMS)
ADDED = 3


@pytest.fixture(scope="module")
def new_papers(model_cache):
    """Papers that are about the same, so that each of them changes what is found."""
    model = MiniLM(cache_folder=model_cache, on_warning=pytest.fail)
    made = []
    for number in range(ADDED):
        text = f"Fog, glaze and the tide were measured by radar at Dover, {number + 7} times, with a brass wheel."
        document = Document(text, (Page(1, 0, len(text)),), f"Measuring {number}")
        chunk = Chunk(0, text, 0, len(text), 1, 1)
        vectors = np.asarray(model.embed_documents([chunk.searched]), np.float32)
        made.append((f"new{number}", document, (chunk,), vectors))
    return made


def add(home, name, document, chunks, vectors):
    path = home / "papers" / f"{name}.pdf"
    path.write_bytes(name.encode())
    with Library.open_for_writing(Home(home)) as library:
        library.add_paper(NewPaper(str(path), f"{name:0>32}", len(name), 1, document, chunks, vectors))


def essence(answer):
    """What an answer says and rests on, without ids and times."""
    hits = tuple((hit.chunk.file, hit.chunk.text, hit.score) for hit in answer.found.hits)
    return answer.question, answer.text, answer.refused, answer.citations, hits, answer.warnings


def opened(home):
    return Engine.open(home, load_settings(home=home, offline=True, history=False))


@pytest.mark.parametrize("questions", [6, pytest.param(50, marks=[pytest.mark.threads, pytest.mark.no_cover])])
def test_answers_of_many_threads_are_those_of_one_while_papers_are_added(library, tmp_path, new_papers, questions):
    asked = ASKED[:questions]
    home = copied(library, tmp_path / "home")
    alone = {}
    with opened(home) as engine:
        for added in range(ADDED + 1):
            for question in asked:
                answer = engine.ask(AskRequest(question))
                alone.setdefault(question, []).append(essence(answer))
            if added < ADDED:
                add(home, *new_papers[added])
    assert any(len(set(answers)) > 1 for answers in alone.values())

    home = copied(library, tmp_path / "again")

    def in_place(kept):
        return replace(kept, path=kept.path.replace(str(tmp_path / "again"), str(tmp_path / "home")))

    with opened(home) as engine, ThreadPoolExecutor(THREADS + 1) as pool:

        def ask(thread):
            wrong = []
            for number in range(questions):
                question = asked[(number * 7 + thread * 11) % len(asked)]
                answer = engine.ask(AskRequest(question))
                answer = replace(answer, citations=tuple(map(in_place, answer.citations)))
                if essence(answer) not in alone[question]:
                    wrong.append((question, essence(answer)))
            return wrong

        asking = [pool.submit(ask, thread) for thread in range(THREADS)]
        adding = pool.submit(lambda: [add(home, *paper) for paper in new_papers])
        adding.result()
        assert [wrong for future in asking for wrong in future.result()] == []
        assert engine.library.about.papers == 3 + ADDED


def test_a_warning_of_one_thread_is_in_no_answer_of_another(library):
    with Engine.open(library, load_settings(home=library, offline=True, history=False)) as engine:

        def search(number):
            is_odd = number % 2 == 1
            found = engine.search(SearchRequest(ASKED[number], graph=is_odd))
            return any("knowledge graph" in warning for warning in found.warnings) is is_odd

        with ThreadPoolExecutor(THREADS) as pool:
            assert all(pool.map(search, range(len(ASKED))))
