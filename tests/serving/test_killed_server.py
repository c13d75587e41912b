"""kill -9 of a server that answers: no answer that reached its client is lost, and the next one begins."""

import random
import signal
import threading

import httpx
import pytest

from ragscience import Engine
from ragscience.core.settings import load_settings
from ragscience.library.history import History
from tests.conftest import copied
from tests.pdf_factory import make_pdf
from tests.serving.server_process import server_process
from tests.serving.test_question_routes import SPEED

pytestmark = pytest.mark.kill


def ask_until_the_end(url, given):
    """Ask in one conversation, and note the id of each answer that came."""
    number = None
    with httpx.Client(base_url=url, timeout=60) as client:
        while True:
            try:
                answer = client.post("/api/v1/ask", json={"question": SPEED, "conversation": number})
            except httpx.TransportError:
                return
            assert answer.status_code == 200, answer.text
            number = answer.json()["conversation"]
            given.append(answer.json()["answer_id"])


def add_until_the_end(url, tmp_path, kill):
    """Add papers all the time, so that the library is written at the kill."""
    with httpx.Client(base_url=url, timeout=60) as client:
        for number in range(1000):
            pdf = make_pdf(tmp_path / f"moss{number}.pdf", [f"Moss {kill} {number}\n\nMoss number {number} is green."])
            try:
                job = client.post("/api/v1/uploads", files={"files": (pdf.name, pdf.read_bytes())}).json()
                while job["state"] in ("waiting", "running"):
                    job = client.get(f"/api/v1/jobs/{job['job_id']}").json()
            except httpx.TransportError:
                return
            assert job["state"] == "done", job


def test_kill_9_loses_no_answer_that_was_given(three_papers, tmp_path):
    home, dice, given = copied(three_papers, tmp_path / "home"), random.Random(11), []
    for kill in range(4):
        before = len(given)
        with server_process(home, {"RAG_OFFLINE": "true"}) as (process, url):
            threads = [threading.Thread(target=ask_until_the_end, args=[url, given]) for _ in range(3)]
            threads.append(threading.Thread(target=add_until_the_end, args=[url, tmp_path, kill]))
            for thread in threads:
                thread.start()
            wanted, pause = before + dice.randint(3, 12), threading.Event()
            while len(given) < wanted:
                pause.wait(dice.random() / 100)
            process.send_signal(signal.SIGKILL)
            for thread in threads:
                thread.join()
            assert process.wait(60) == -signal.SIGKILL
        with History.open(home / "vectorstore" / "history.sqlite") as history:
            kept = [
                turn.answer.answer_id
                for talk in history.conversations()
                for turn in history.turns(talk.conversation_id)
            ]
        assert set(given) <= set(kept)
        assert len(kept) == len(set(kept))
    with Engine.open(home, load_settings(home=home, offline=True)) as engine:
        problems = [finding for finding in engine.doctor() if finding.severity == "error"]
        assert problems == []
        engine.ingest.sync()  # what was uploaded and not read is read by the next run
        assert len(engine.papers.list()) > 3
