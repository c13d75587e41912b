"""What a worker does with the bytes of a PDF, and what is not taken from one."""

from dataclasses import replace
from hashlib import md5

import pytest

from ragscience.library import paper_task
from ragscience.library.paper_task import PaperJob, TaskOptions, embed_paper
from tests.library.workers.papers import draw_papers


@pytest.fixture
def options(model_cache):
    yield TaskOptions("", 300, 50, 16, True, True, str(model_cache))
    paper_task.close_readers()


def test_what_the_library_knows_is_not_embedded_again(options, tmp_path):
    path = draw_papers(tmp_path, 1, pages=2) / "paper00.pdf"
    content = path.read_bytes()
    job = PaperJob(path, md5(content).hexdigest(), len(content), made_by=options.made_by)
    first, *others = embed_paper(options, job, path).vectors[0]
    again = embed_paper(options, replace(job, known=frozenset(others)), path)
    assert [list(each) for each in again.vectors] == [[first], [first]]
