"""Many clients at once: each gets the answer to its own question, while a paper comes and goes."""

import itertools
import json
import random
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx

from tests.conftest import copied
from tests.pdf_factory import make_pdf
from tests.serving.conftest import serving
from tests.serving.test_paper_routes import finished

QUESTIONS = (
    "How fast do bees fly in fog?",
    "At what temperature was the kiln fired?",
    "What does the machine sum?",
    "How are tides predicted?",
    "How much does moss grow in a year?",
    "Which clay was fired in the kiln?",
    "Do honeybees find their way home?",
    "What is measured at night?",
)
CLIENTS, EACH = 16, 4


def asked(client, path, question):
    """The answer as far as it is the same each time."""
    reply = client.post(f"/api/v1/{path}", json={"question": question})
    assert reply.status_code == 200, reply.text
    # The file of an upload stays where its paper is removed, so the next one gets a number.
    value = json.loads(re.sub(r"moss \(\d+\)", "moss", reply.text))
    assert value["question"] == question
    if path == "search":
        return tuple((hit["file"], hit["page_start"], hit["text"], round(hit["score"], 5)) for hit in value["hits"])
    return value["answer"], tuple((one["file"], one["page"], one["quote"]) for one in value["citations"])


def test_each_client_gets_the_answer_to_its_own_question(three_papers, tmp_path):
    moss = make_pdf(tmp_path / "moss.pdf", ["Growth of moss\n\nMoss grows 4.2 millimetres a year on granite."])
    home, dice = copied(three_papers, tmp_path / "home"), random.Random(5)
    with serving(home) as url, httpx.Client(base_url=url, timeout=120) as client:

        def add():
            added = client.post("/api/v1/uploads", files={"files": ("moss.pdf", moss.read_bytes())})
            assert finished(client, added.json())["state"] == "done"

        def remove():
            every = client.get("/api/v1/papers").json()["papers"]
            md5 = next(paper["md5"] for paper in every if paper["file"].startswith("moss"))
            assert finished(client, client.delete(f"/api/v1/papers/{md5}").json())["state"] == "done"

        def alone():
            return {(path, text): asked(client, path, text) for path in ("search", "ask") for text in QUESTIONS}

        without = alone()
        add()
        right = {key: {without[key], value} for key, value in alone().items()}
        assert all(len(right[path, QUESTIONS[4]]) == 2 for path in ("search", "ask"))
        remove()
        tasks = [
            [(dice.choice(("search", "ask")), text) for text in dice.sample(QUESTIONS, EACH)] for _ in range(CLIENTS)
        ]
        over = threading.Event()

        def ask_all(mine):
            with httpx.Client(base_url=url, timeout=120) as own:
                return [(key, asked(own, *key)) for key in mine]

        def change():
            for step in itertools.cycle((add, remove)):
                step()
                if over.is_set() and step is remove:
                    return

        with ThreadPoolExecutor(CLIENTS + 1) as threads:
            changing = threads.submit(change)
            try:
                given = list(itertools.chain.from_iterable(threads.map(ask_all, tasks)))
            finally:
                over.set()
            changing.result()
        assert [key for key, answer in given if answer not in right[key]] == []
        assert len(given) == CLIENTS * EACH
        assert alone() == without
