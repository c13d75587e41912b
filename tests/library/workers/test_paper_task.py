"""What a worker does with the bytes of a PDF, and what is not taken from one."""

from dataclasses import replace
from hashlib import md5

import pytest

from ragscience.library import paper_task
from ragscience.library.paper_task import PaperJob, TaskOptions, embed_paper
from tests.library.workers.papers import draw_papers


def job_of(path, **fields):
    content = path.read_bytes()
    return PaperJob(path, md5(content).hexdigest(), len(content), **fields)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return draw_papers(tmp_path_factory.mktemp("papers"), 1, pages=2)


@pytest.fixture(scope="module")
def options(model_cache):
    yield TaskOptions("", 300, 50, 16, True, True, str(model_cache))
    paper_task.close_readers()


@pytest.fixture(scope="module")
def job(folder, options):
    return job_of(folder / "paper00.pdf", made_by=options.made_by)


@pytest.fixture(scope="module")
def paper(job, options):
    return embed_paper(options, job, job.path)


def test_what_the_library_knows_is_not_embedded_again(paper, job, options):
    first, *others = paper.vectors[0]
    knowing = replace(job, known=frozenset(others))
    again = embed_paper(options, knowing, job.path)
    assert [list(each) for each in again.vectors] == [[first], [first]]
