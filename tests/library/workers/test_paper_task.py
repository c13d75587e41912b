"""What a worker does with the bytes of a PDF, and what is not taken from one."""

from dataclasses import replace
from hashlib import md5

import numpy as np
import pytest

from ragscience.core.errors import FileProblem
from ragscience.core.records import Metadata
from ragscience.library import paper_task
from ragscience.library.paper_rows import FileSource
from ragscience.library.paper_task import EmbeddedPaper, PaperJob, TaskOptions, embed_paper
from ragscience.models.minilm import MiniLM
from tests.library.workers.papers import draw_papers


def job_of(path, **fields):
    content = path.read_bytes()
    return PaperJob(path, md5(content).hexdigest(), len(content), **fields)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return draw_papers(tmp_path_factory.mktemp("papers"), 1, pages=2)


@pytest.fixture(scope="module")
def options(model_cache):
    yield TaskOptions("", "never", 300, 50, 16, True, True, str(model_cache))
    paper_task.close_readers()


@pytest.fixture(scope="module")
def job(folder, options):
    return job_of(folder / "paper00.pdf", made_by=options.made_by)


@pytest.fixture(scope="module")
def paper(job, options):
    return embed_paper(options, job, job.path)


def test_a_paper_comes_back_read_cut_and_embedded_and_the_same_from_its_bytes_alone(paper, job, options):
    assert isinstance(paper, EmbeddedPaper)
    assert paper.md5 == job.md5
    assert paper.document.title == "On word0"
    assert len(paper.chunks) == len(paper.vectors[0]) == len(paper.vectors[1]) > 4
    elsewhere = replace(job, path=job.path.parent / "elsewhere" / job.path.name)
    again = embed_paper(options, elsewhere, job.path.read_bytes())
    assert (again.document, again.chunks) == (paper.document, paper.chunks)
    assert all(np.array_equal(again.vectors[0][key], row) for key, row in paper.vectors[0].items())


def test_what_its_source_says_is_in_the_passages(job, options):
    paper = embed_paper(options, replace(job, source=FileSource("", "", Metadata(title="Told Elsewhere"))), job.path)
    assert paper.document.title == "Told Elsewhere"
    assert all(chunk.header.startswith("Told Elsewhere") for chunk in paper.chunks)


def test_what_the_library_knows_is_not_embedded_again(paper, job, options):
    first, *others = paper.vectors[0]
    knowing = replace(job, known=frozenset(others))
    again = embed_paper(options, knowing, job.path)
    assert [list(each) for each in again.vectors] == [[first], [first]]


def test_a_broken_file_is_a_problem_and_the_worker_reads_on(folder, job, options):
    problem = embed_paper(options, job_of(folder / "broken.pdf", made_by=options.made_by), folder / "broken.pdf")
    assert isinstance(problem, FileProblem)
    assert "broken.pdf" in problem.message
    without = embed_paper(replace(options, embeds=False), job, job.path)
    assert without.vectors == ({}, {})
    gone = embed_paper(options, job, folder / "gone.pdf")
    assert isinstance(gone, FileProblem)


def test_a_worker_of_another_version_does_nothing(job, options):
    problem = embed_paper(options, replace(job, made_by="reading 1"), job.path)
    assert "this process by reading 1" in problem.message
    assert "same version" in problem.fix


def test_a_text_has_the_same_vector_in_every_batch(model_cache):
    model = MiniLM(cache_folder=model_cache, on_warning=print, packed=True)
    texts = [f"Bees number {number} steer by the sun" + " and by landmarks" * (number % 7) for number in range(24)]
    together = model.embed_documents(texts)
    assert np.array_equal(together, np.stack([model.embed_documents([text])[0] for text in texts]))
    few = MiniLM(cache_folder=model_cache, on_warning=print, packed=True, cores=1)
    assert np.array_equal(together, few.embed_documents(texts))
