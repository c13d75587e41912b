"""The order of papers, the bounds of what is under way, and files that cannot be read; the workers are threads here."""

from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest

from ragscience.core.errors import FileProblem, RagScienceError
from ragscience.core.records import Document, Page
from ragscience.library import task_window
from ragscience.library.paper_task import EmbeddedPaper, PaperJob, TaskOptions
from ragscience.library.task_window import PaperWorkers
from ragscience.reading.worker_pool import ReadingProgress

OPTIONS = TaskOptions(60.0, 1 << 30, "", "never", 300, 50, ("\n",), 16, True, True, "", made_by="ours")
PATHS = [Path(f"paper{number}.pdf") for number in range(9)]


class Workers(PaperWorkers):
    """Finish the last paper that they were sent first, once no more is sent."""

    workers = 2

    def __init__(self, size=1, **results):
        super().__init__(OPTIONS, lambda path: PaperJob(path, path.stem, size))
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
        return self._again(task) if result == "again" else result

    def _again(self, task):
        self.results.pop(task.job.path.stem)
        self._send(task)

    def _end(self):
        self.has_ended = True

    def finish(self):
        for task in reversed(self.sent):
            if not task.result.done():
                whole = EmbeddedPaper(task.job.md5, "ours", Document("", (Page(1, 0, 0),)), (), {}, {})
                task.result.set_result(self.results.get(task.job.path.stem, whole))


class Progress(ReadingProgress):
    """Lets the workers finish where the loop waits for them."""

    def __init__(self, workers):
        self.workers = workers
        self.told = []

    def page_done(self, path, number, pages):
        self.told.append((path.stem, number, pages))

    def waiting(self, path):  # the class's signature
        self.workers.finish()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(task_window, "_LOOK_SECONDS", 0)


def read(workers, **options):
    with workers:
        return list(workers.read_all(PATHS, Progress(workers), **options))


def test_papers_come_in_their_order_and_three_for_each_worker_are_under_way():
    workers = Workers()
    assert [(path, paper.md5) for path, paper in read(workers)] == [(path, path.stem) for path in PATHS]
    assert workers.most == 6
    assert workers.has_ended


def test_large_files_go_one_by_one():
    workers = Workers(size=300 << 20)
    assert len(read(workers)) == len(PATHS)
    assert workers.most == 1


def test_a_paper_that_is_sent_again_keeps_its_place():
    workers = Workers(paper3="again")
    assert [path for path, _ in read(workers)] == PATHS
    assert [task.job.path.stem for task in workers.sent].count("paper3") == 2


def test_problems_of_files_are_values_and_those_of_workers_end_the_run():
    problem = FileProblem("It is broken.")
    found = dict(read(Workers(paper2=problem)))
    assert found[PATHS[2]] is problem
    other = EmbeddedPaper("of other bytes", "ours", Document("", ()), (), {}, {})
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
            if path == PATHS[0]:
                assert held == set(PATHS[1:5])
            if path == PATHS[5]:
                assert str(paper) == "It is not in the bucket."
            if path == PATHS[6]:
                assert str(paper) == "paper6.pdf cannot be read: Permission denied."
    assert held == set()


def test_it_is_told_when_a_paper_begins_and_that_its_pages_are_done():
    workers = Workers()
    progress = Progress(workers)
    with workers:
        assert len(list(workers.read_all(PATHS, progress))) == len(PATHS)
    assert {name for name, number, _ in progress.told if number == 0} <= {path.stem for path in PATHS}
    assert [told for told in progress.told if told[0] == "paper0"] == [("paper0", 0, 0), ("paper0", 1, 1)]
