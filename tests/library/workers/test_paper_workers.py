"""The order of papers, the bounds of what is under way, and files that cannot be read; the workers are futures here."""

from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragscience.core.errors import FileProblem, RagScienceError
from ragscience.core.records import Document
from ragscience.library import paper_workers
from ragscience.library.paper_task import EmbeddedPaper, PaperJob, TaskOptions
from ragscience.library.paper_workers import PaperWorkers
from ragscience.reading.worker_pool import ReadingProgress

OPTIONS = TaskOptions("", "never", 300, 50, 16, True, True)
PATHS = [Path(f"paper{number}.pdf") for number in range(9)]


class Workers(PaperWorkers):
    """Finish the last paper that they were sent first, once no more is sent."""

    workers = 2

    def __init__(self, size=1, **results):
        super().__init__(OPTIONS, lambda path: PaperJob(path, path.stem, size, "ours"))
        self.results = results
        self.most = 0
        self.has_ended = False
        self.sent = []

    def _start(self, task):
        task.file.enter_context(self._opened(task.job.path))
        self.sent.append(task)
        self.most = max(self.most, sum(not task.result.done() for task in self.sent))
        return Future()

    def _result(self, task):
        result = task.result.result()
        if result != "again":
            return result
        del self.results[task.job.path.stem]
        self._send(task)
        return None

    def _end(self):
        self.has_ended = True

    def finish(self):
        for task in reversed(self.sent):
            if not task.result.done():
                name = task.job.path.stem
                paper = EmbeddedPaper(name, Document(name, ()), (), ({}, {}))
                task.result.set_result(self.results.get(name, paper))
                return


class Progress(ReadingProgress):
    """While the first paper is waited for, another one is done."""

    def __init__(self, workers):
        self.workers = workers

    def waiting(self, path):
        self.workers.finish()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch):
    monkeypatch.setattr(paper_workers, "_LOOK_SECONDS", 0)


def read(workers):
    with workers:
        return list(workers.read_all(PATHS, Progress(workers)))


def test_papers_come_back_in_their_order_and_few_are_under_way():
    workers = Workers()
    found = read(workers)
    assert [path for path, _ in found] == PATHS
    assert [paper.md5 for _, paper in found] == [path.stem for path in PATHS]
    assert workers.most == 6
    assert workers.has_ended
    large = Workers(size=200 << 20)
    read(large)
    assert large.most == 2


def test_a_paper_whose_worker_died_is_sent_again_and_a_problem_is_its_own():
    problem = FileProblem("It is broken.")
    workers = Workers(paper3=problem, paper2="again")
    found = dict(read(workers))
    assert found[PATHS[3]] is problem
    assert found[PATHS[2]].md5 == "paper2"
    assert len(workers.sent) == len(PATHS) + 1
    other = EmbeddedPaper("of other bytes", Document("", ()), (), ({}, {}))
    assert "changed" in str(dict(read(Workers(paper4=other)))[PATHS[4]])
    with pytest.raises(RagScienceError, match="out of order"):
        read(Workers(paper1=RagScienceError("The worker is out of order.")))


def test_a_file_is_held_until_its_paper_is_there_and_one_that_cannot_be_had_is_its_own_problem():
    held = set()

    @contextmanager
    def opened(path):
        if path == PATHS[5]:
            raise FileProblem("It is not in the bucket.")
        if path == PATHS[6]:
            raise PermissionError(13, "Permission denied")
        held.add(path)
        yield path
        held.remove(path)

    workers = Workers()
    with workers:
        for path, paper in workers.read_all(PATHS, Progress(workers), opened):
            assert path not in held
            if path == PATHS[5]:
                assert str(paper) == "It is not in the bucket."
            if path == PATHS[6]:
                assert str(paper) == "paper6.pdf cannot be read: Permission denied."
    assert held == set()
