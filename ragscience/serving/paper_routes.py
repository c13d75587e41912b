"""Papers, their pages and files, uploads and jobs: `/api/v1/papers`, `/uploads`, `/jobs`."""

import os
from contextlib import ExitStack
from pathlib import Path as FilePath
from typing import Annotated, Literal
from uuid import uuid4

from fastapi import APIRouter, File, Path, Query, Request, UploadFile
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, PlainTextResponse, Response

from ragscience.core.errors import FileProblem, NothingFound, RagScienceError, UsageError
from ragscience.core.paper_records import has_pages
from ragscience.core.records import Paper
from ragscience.core.serialization import select
from ragscience.engine.page_files import file_of
from ragscience.engine.places import placed_sources
from ragscience.engine.printable import outline_output, page_output, paper_output, with_formulas_named
from ragscience.engine.shared_parts import refuse_papers_in
from ragscience.serving.access import ServerState, person_of, state_of
from ragscience.serving.problem_responses import JsonReply, problem_response
from ragscience.serving.question_routes import IN_DIGITS, AnswerId, history_of
from ragscience.serving.work import Job, safe_name

Md5 = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Of the paper's file, as the list has it.")]
Number = Annotated[int, IN_DIGITS, Path(ge=1, le=1_000_000)]
JobId = Annotated[str, Path(pattern="^[0-9a-f]{32}$")]
_BLOCK = 1 << 20
_MAGIC = b"%PDF-"
_MAGIC_WITHIN = 1024
"""Bytes at the beginning of a PDF within which its mark has to stand."""
_BYTES = {"schema": {"type": "string", "format": "binary"}}


paper_routes = APIRouter(tags=["papers"], default_response_class=Response)


@paper_routes.get("/papers", response_description="As `list --json` prints it.")
def papers(request: Request) -> Response:
    """The papers of the library, by their names."""
    every = state_of(request).engine.papers.list()
    return JsonReply(select("schema papers", papers=[paper_output(paper) for paper in every]))


@paper_routes.get("/papers/{md5}", response_description="As a paper of `list --json` prints it.")
def one(md5: Md5, request: Request) -> Response:
    """What is known of a paper."""
    return JsonReply(paper_output(_paper(state_of(request), md5)))


@paper_routes.get("/papers/{md5}/outline", response_description="As `show --json` prints it.")
def outline(md5: Md5, request: Request) -> Response:
    """Headings, tables and figures of a paper, with their pages."""
    return JsonReply(outline_output(state_of(request).engine.papers.outline(md5)))


@paper_routes.get("/papers/{md5}/pages/{number}", response_description="As `show --page --json` prints it.")
def page(md5: Md5, number: Number, request: Request) -> Response:
    """The text of a page as it was read, with its parts."""
    return JsonReply(page_output(state_of(request).engine.papers.page(md5, number)))


@paper_routes.get(
    "/papers/{md5}/file",
    response_class=FileResponse,
    responses={200: {"content": {"application/pdf": _BYTES}}, 206: {"content": {"application/pdf": _BYTES}}, 416: {}},
)
def file(md5: Md5, request: Request) -> FileResponse:
    """The PDF itself, as it was when it was read: marks are drawn on it; a file of another format as a download."""
    state = state_of(request)
    paper = _paper(state, md5)
    with ExitStack() as stack:
        path = file_of(paper, stack.enter_context(state.engine.files.opened(FilePath(paper.path), md5)))
        sent = BackgroundTask(stack.pop_all().close)  # until then a cached file stays
    # A web page of somebody else's must not run at this address.
    kind, how = ("application/pdf", "inline") if has_pages(paper.file) else ("application/octet-stream", "attachment")
    return FileResponse(path, media_type=kind, content_disposition_type=how, filename=path.name, background=sent)


@paper_routes.get(
    "/bibliography",
    response_class=PlainTextResponse,
    responses={200: {"content": {"text/plain": {}, "application/json": {"schema": {"type": "array"}}}}},
)
def bibliography(
    request: Request,
    md5: Annotated[list[str] | None, Query(max_length=1000)] = None,
    form: Literal["bibtex", "csl"] = "bibtex",
) -> Response:
    """The papers as BibTeX or CSL-JSON; all, or those named."""
    state = state_of(request)
    for each in md5 or ():
        _paper(state, each)
    _, text = state.engine.papers.bibliography(md5 or (), csl=form == "csl")
    return Response(text, media_type="application/json" if form == "csl" else "text/plain; charset=utf-8")


@paper_routes.post("/uploads", status_code=202, responses={202: {"model": Job}})
async def upload(files: Annotated[list[UploadFile], File()], request: Request) -> Response:
    """Put files into papers/ and read them; the job's progress is at `/jobs/{id}`."""
    state = state_of(request)
    refuse_papers_in(state.engine.settings)
    paths: list[FilePath] = []
    try:
        for each in files:
            paths.append(await _stored(state, each))  # noqa: PERF401  # those that are stored are known if one fails
    except (OSError, RagScienceError) as error:
        for path in paths:
            path.unlink()
        if isinstance(error, RagScienceError):
            raise
        return problem_response(507, f"The upload was not stored: {error.strerror}.", "Make room where the library is.")
    return JsonReply(state.queue.add(paths, person_of(request.scope).name), 202)


@paper_routes.delete("/papers/{md5}", status_code=202, responses={202: {"model": Job}})
def remove(md5: Md5, request: Request) -> Response:
    """Take a paper out of the library; its file stays."""
    state = state_of(request)
    return JsonReply(state.queue.remove(md5, _paper(state, md5).file), 202)


@paper_routes.get("/jobs")
def jobs(request: Request) -> Response:
    """Changes of the library, the newest first."""
    return JsonReply({"jobs": state_of(request).queue.jobs()})


@paper_routes.get("/jobs/{job_id}", responses={200: {"model": Job}})
def job(job_id: JobId, request: Request) -> Response:
    """One change of the library, and how far it is."""
    found: Job | None = state_of(request).queue.job(job_id)
    if found is None:
        raise NothingFound(f"There is no job {job_id}.", "GET /api/v1/jobs lists them.")
    return JsonReply(found)


def _paper(state: ServerState, md5: str) -> Paper:
    """The paper whose file has that MD5. Raises NothingFound."""
    paper = state.engine.library.paper(md5=md5)
    if paper is None:
        raise NothingFound(f"The library has no paper {md5!r}.", "GET /api/v1/papers lists them.")
    return paper


async def _stored(state: ServerState, upload: UploadFile) -> FilePath:
    """The upload as a file of papers/, under a name of its own. Raises UsageError, or FileProblem for a false PDF."""
    name = safe_name(upload.filename or "")
    head = await upload.read(_BLOCK)
    if has_pages(name) and _MAGIC not in head[:_MAGIC_WITHIN]:
        raise FileProblem(f"{name} is not a PDF.", "Upload PDFs.", reason="not-a-pdf")
    parts = state.engine.home.root / "vectorstore" / "parts"
    target = parts / f"upload-{uuid4().hex}"
    await run_in_threadpool(parts.mkdir, parents=True, exist_ok=True)
    try:
        with target.open("xb") as file:
            while head:
                await run_in_threadpool(file.write, head)
                head = await upload.read(_BLOCK)
            file.flush()
            os.fsync(file.fileno())
        return await run_in_threadpool(_placed, target, state.engine.home.papers, name)
    finally:
        target.unlink(missing_ok=True)


def _placed(file: FilePath, folder: FilePath, name: str) -> FilePath:
    """The file linked into the folder under that name, or one with a number where another file has it."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        target = folder / (name if number == 1 else f"{FilePath(name).stem} ({number}){FilePath(name).suffix}")
        try:
            os.link(file, target)
        except FileExistsError:
            continue
        return target
    raise UsageError(f"papers/ has too many files called {name}.", "Give the upload another name.")


NARROWEST, WIDEST = 50, 3000
"""Pixels of a picture."""
_GEOMETRY = "schema md5 file width height rotation crop_box start end lines page elements"
_FOR_GOOD = {"Cache-Control": "private, max-age=31536000, immutable"}
"""A picture of a page of a file with that MD5 never changes."""


@paper_routes.get("/papers/{md5}/pages/{number}/geometry")
def geometry(md5: Md5, number: Number, request: Request) -> Response:
    """The size of a page, and where its lines and parts stand on it.

    Boxes are left, top, right, bottom in points (1/72 inch) from the top left corner of the page as it is shown: cut to
    its crop box and turned by its rotation. pdf.js draws the same page with `page.getViewport({scale})`, where a point
    is `scale` pixels.
    """
    state = state_of(request)
    page = state.engine.papers.page(md5, number)
    shape = state.pictures.drawn(page.paper, number)[0]
    elements = [select("kind level section start end box", each) for each in page.elements]
    return JsonReply(select(_GEOMETRY, page.paper, shape, page.page, page=number, elements=elements))


@paper_routes.get(
    "/papers/{md5}/pages/{number}/image",
    responses={200: {"content": {"image/png": {"schema": {"type": "string", "format": "binary"}}}}},
)
def image(
    md5: Md5,
    number: Number,
    request: Request,
    width: Annotated[int, Query(ge=NARROWEST, le=WIDEST, description="Pixels.")] = 1000,
) -> Response:
    """A page as a PNG; one that is much higher than wide is drawn narrower."""
    state = state_of(request)
    page = state.engine.papers.page(md5, number)
    return Response(state.pictures.drawn(page.paper, number, width)[1], headers=_FOR_GOOD, media_type="image/png")


@paper_routes.get("/answers/{answer_id}/sources")
def sources(answer_id: AnswerId, request: Request) -> Response:
    """The sources of an earlier answer, numbered as under it, with the boxes of their quotes."""
    engine = state_of(request).engine
    answer = history_of(request).answer(answer_id).answer
    shown = []
    for each in placed_sources(answer, engine.library):
        quotes = [select("quote supported start end boxes", quote) for quote in each.citations]
        named = with_formulas_named(quotes, each.page)
        shown.append(select("number md5 file title page quotes", each, quotes=named))
    return JsonReply(select("schema answer_id sources", answer, sources=shown))
