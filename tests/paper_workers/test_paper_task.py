"""What a worker does with the bytes of a PDF, and what is not taken from one."""

from dataclasses import replace
from hashlib import md5

import numpy as np
import pytest

from ragscience.core.errors import FileProblem, RagScienceError
from ragscience.core.records import Metadata
from ragscience.library import paper_task
from ragscience.library.paper_task import EmbeddedPaper, PaperJob, TaskOptions, check, embed_paper, made_by
from ragscience.library.sources_table import Source
from ragscience.models.minilm import MiniLM
from tests.paper_workers.papers import draw_papers


def job_of(path, **fields):
    content = path.read_bytes()
    return PaperJob(path, md5(content).hexdigest(), len(content), **fields)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return draw_papers(tmp_path_factory.mktemp("papers"), 1, pages=2)


@pytest.fixture(scope="module")
def job(folder):
    return job_of(folder / "paper00.pdf")


@pytest.fixture(scope="module")
def options(model_cache):
    options = TaskOptions(
        60.0, 1 << 30, "", "never", 300, 50, ("\n", " ", ""), 16, True, True, str(model_cache), made_by=""
    )
    yield replace(options, made_by=made_by(options))
    paper_task.close_readers()


@pytest.fixture(scope="module")
def paper(job, options):
    return embed_paper(options, job, job.path)


def test_a_paper_comes_back_read_cut_and_embedded_and_the_same_from_its_bytes_alone(paper, job, options):
    assert isinstance(paper, EmbeddedPaper)
    check(paper, job, options)
    assert paper.document.title == "On word0"
    assert len(paper.chunks) == len(paper.vectors) == len(paper.tokens) > 4
    elsewhere = replace(job, path=job.path.parent / "elsewhere" / job.path.name)
    again = embed_paper(options, elsewhere, job.path.read_bytes())
    assert (again.document, again.chunks) == (paper.document, paper.chunks)
    assert all(np.array_equal(again.vectors[key], row) for key, row in paper.vectors.items())


def test_what_its_source_says_is_in_the_passages(job, options):
    paper = embed_paper(options, replace(job, source=Source("", "", Metadata(title="Told Elsewhere"))), job.path)
    assert paper.document.title == "Told Elsewhere"
    assert all(chunk.header.startswith("Told Elsewhere") for chunk in paper.chunks)


def test_what_the_library_knows_is_not_embedded_again(paper, job, options):
    first, *others = paper.vectors
    knowing = replace(job, known=frozenset(others))
    again = embed_paper(options, knowing, job.path)
    assert (list(again.vectors), list(again.tokens)) == ([first], [first])
    check(again, knowing, options)
    with pytest.raises(RagScienceError, match="not whole"):
        check(again, job, options)


def test_a_broken_file_is_a_problem_and_the_worker_reads_on(folder, job, options):
    problem = embed_paper(options, job_of(folder / "broken.pdf"), folder / "broken.pdf")
    assert isinstance(problem, FileProblem)
    assert "broken.pdf" in problem.message
    without = embed_paper(replace(options, embeds=False), job, job.path)
    assert (without.vectors, without.tokens) == ({}, {})
    gone = embed_paper(options, job, folder / "gone.pdf")
    assert isinstance(gone, FileProblem)


def test_a_worker_of_another_version_does_nothing(job, options):
    problem = embed_paper(replace(options, made_by="reading 1"), job, job.path)
    assert "this process by reading 1" in problem.message
    assert "same version" in problem.fix


def test_what_a_worker_of_another_version_made_is_not_taken(paper, job, options):
    with pytest.raises(RagScienceError, match="A worker reads by another"):
        check(replace(paper, made_by="another"), job, options)


def test_a_file_that_changed_meanwhile_is_a_problem_of_the_file(paper, job, options):
    with pytest.raises(FileProblem, match="was changed while it was read"):
        check(paper, replace(job, md5="0" * 32), options)


def damaged(paper):
    """The paper, each time with one thing wrong."""
    first, *others = paper.chunks
    key = next(iter(paper.vectors))
    row, kept = paper.vectors[key], paper.tokens[key]
    yield replace(paper, chunks=tuple(others))
    yield replace(paper, chunks=(replace(first, ordinal=7), *others))
    yield replace(paper, chunks=(replace(first, start=first.start + 1), *others))
    for vector in (row * 2, row.astype(np.float64), row[:-1], row * np.nan):
        yield replace(paper, vectors={**paper.vectors, key: vector})
    for tokens in (kept[0], kept[:, 1:], kept.astype(np.int8)):
        yield replace(paper, tokens={**paper.tokens, key: tokens})
    yield replace(paper, tokens={})
    yield replace(paper, vectors={})


def test_what_is_not_whole_is_not_taken(paper, job, options):
    wrong = list(damaged(paper))
    assert len(wrong) == 12
    for each in wrong:
        with pytest.raises(RagScienceError, match="not whole"):
            check(each, job, options)


def test_a_text_has_the_same_vector_in_every_batch(model_cache):
    model = MiniLM(cache_folder=model_cache, on_warning=print, packed=True)
    texts = [f"Bees number {number} steer by the sun" + " and by landmarks" * (number % 7) for number in range(24)]
    together = model.embed_documents(texts)
    assert np.array_equal(together, np.stack([model.embed_documents([text])[0] for text in texts]))
    few = MiniLM(cache_folder=model_cache, on_warning=print, packed=True, cores=1)
    assert np.array_equal(together, few.embed_documents(texts))
