"""Runs that measure and keep nothing: questions with known answers, and the doctor."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from ragscience.core.errors import RagScienceError, UsageError
from ragscience.core.records import EmbedderIdentity, Filters
from ragscience.core.settings import Settings, changed_settings
from ragscience.engine.access_tokens import AccessTokens
from ragscience.engine.asking import ask
from ragscience.engine.events import Event, ModelAsked, Noted, OnEvent, Progressed, Searched, TokensCounted, unheard
from ragscience.engine.model_pool import ModelPool
from ragscience.engine.question_run import QuestionRun
from ragscience.engine.requests import LONGEST_QUESTION, AskRequest, described
from ragscience.engine.shared_parts import EMBEDDED, SharedParts, open_store, paper_files
from ragscience.evaluation.answer_metrics import measure
from ragscience.evaluation.eval_report import Evaluation, Outcome, cost_of
from ragscience.evaluation.question_file import BadLine, KnownQuestion, as_listed, read_known_questions
from ragscience.library.store import Home
from ragscience.search.profiles import PROFILE_NAMES
from ragscience.upkeep import machine_checks
from ragscience.upkeep.doctor import examine
from ragscience.upkeep.machine_checks import DoctorFinding as DoctorFinding
from ragscience.upkeep.machine_checks import Given, guarded
from ragscience.upkeep.machine_checks import worst as worst

WAYS = ("ask", "agent", "corrective", "graph")
"""As the settings say, or with the option of that name."""


@dataclass(frozen=True, slots=True)
class EvalRequest:
    """Questions to ask, and how."""

    questions: Sequence[KnownQuestion] = ()
    source: str = ""
    """The name of the file that they are from."""
    bad_lines: tuple[BadLine, ...] = ()
    mode: str = "ask"
    """One of WAYS, or a profile, with which they are then asked."""
    filters: Filters = field(default_factory=Filters)
    top_k: int | None = None


def check_modes(mode: str, against: str | None) -> None:
    """Raise UsageError for a mode that there is not, and for one that is to be compared with itself."""
    for name in filter(None, (mode, against)):
        if name not in (*WAYS, *PROFILE_NAMES):
            ways = f"{', '.join(WAYS)}, or a profile: {', '.join(PROFILE_NAMES)}"
            raise UsageError(f"{name!r} is no mode.", f"Take one of {ways}.")
    if mode == against:
        raise UsageError(f"{mode!r} cannot be compared with itself.", "Name another mode with --against.")


def read_questions(
    shared: SharedParts, file: Path, *, on_event: OnEvent = unheard
) -> tuple[list[KnownQuestion], tuple[BadLine, ...]]:
    """(the questions of a file, their papers called as the library calls them; its bad lines).

    Raises UsageError where there is no question at all.
    """
    lines = list(read_known_questions(file, LONGEST_QUESTION))
    bad = tuple(line for line in lines if isinstance(line, BadLine))
    for line in bad:
        on_event(Noted(f"{file.name}, line {line.line}, is left out: {line.reason}"))
    questions = [line for line in lines if isinstance(line, KnownQuestion)]
    if not questions:
        fix = 'Write one a line: {"question": "…", "must_contain": ["…"], "evidence": [{"file": "a.pdf", "page": 3}]}.'
        raise UsageError(f"{file} has no questions.", fix)
    return as_listed(questions, {paper.path: paper.file for paper in shared.library.papers()}), bad


def evaluate(shared: SharedParts, request: EvalRequest, *, on_event: OnEvent = unheard) -> Evaluation:
    """Ask the questions, each with its own history and none kept; one that fails does not stop the others."""
    shared = shared.with_settings(changed_settings(shared.settings, {"history": False}))
    mode, outcomes, seen = request.mode, list[Outcome](), Counter[str]()
    counts: dict[type[Event], str] = {Searched: "searches", ModelAsked: "LLM calls", TokensCounted: "tokens"}

    def heard(event: Event) -> None:
        if (name := counts.get(type(event))) is not None:
            seen[name] += event.tokens if isinstance(event, TokensCounted) else 1
        on_event(event)

    def asked(known: KnownQuestion) -> AskRequest:
        return AskRequest(
            known.question,
            filters=request.filters,
            history=known.history,
            top_k=request.top_k,
            profile=mode if mode in PROFILE_NAMES else None,
            graph=True if mode == "graph" else None,
            agent=mode == "agent",
            corrective=True if mode == "corrective" else None,
        )

    first = QuestionRun(shared, asked(request.questions[0]), on_event=on_event)
    total = len(request.questions)
    for known in request.questions:
        on_event(Progressed(mode, len(outcomes), total))
        seen.clear()
        began, answer, error = time.monotonic(), None, ""
        try:
            answer = ask(shared, asked(known), on_event=heard)
        except RagScienceError as problem:
            error = str(problem)
            on_event(Noted(f"{known.question_id}: {error}"))
        cost = cost_of(answer, seen, time.monotonic() - began)
        outcomes.append(Outcome(known, answer, error, measure(known, answer, cost)))
    on_event(Progressed(mode, total, total))
    return Evaluation(request.source, tuple(outcomes), request.bad_lines, _conditions(first, request, outcomes))


def _conditions(asked: QuestionRun, request: EvalRequest, outcomes: Sequence[Outcome]) -> dict[str, str]:
    library, answers = asked.library, [outcome.answer for outcome in outcomes if outcome.answer]
    used = {name: answer.models.get(name) for answer in answers[:1] for name in ("embedder", "reranker")}
    llms = sorted({answer.models.get("llm") or "" for answer in answers} - {""})
    return {
        "mode": request.mode,
        "papers": str(library.about.papers),
        "passages": str(library.about.chunks),
        "profile": asked.profile.name,
        "embedder": used.get("embedder") or "none",
        "reranker": used.get("reranker") or "none",
        "llm": ", ".join(llms) or "none (quotes)",
        "passages for an answer": str(max((len(answer.found.hits) for answer in answers), default=0)),
        **({"filters": described(request.filters)} if request.filters != Filters() else {}),
    }


def doctor(
    home: Home, settings: Settings, models: ModelPool, *, network: bool, fast: bool = False, on_event: OnEvent = unheard
) -> list[DoctorFinding]:
    """What is found of the library and the models, with `network` also of the servers; nothing is written.

    With `fast` the contents of the database are not verified. `on_event` gets a `Progressed` for each check.
    """
    now = datetime.now(UTC)
    opened = None if settings.library == EMBEDDED else partial(open_store, home, settings)
    offline = settings if network else settings.model_copy(update={"offline": True})
    given = Given(now, where=paper_files(home, offline), fast=fast)
    found = list(examine(home, given, opened, on_check=lambda what: on_event(Progressed(f"checking {what}"))))
    found += guarded("access", lambda: AccessTokens(home.serve_tokens).all()[:0])  # their error is the finding
    found += guarded("models", _models, offline, models, _made_by(home, settings))
    if network:
        found += guarded("network", _network, settings, models)
    return found


def _made_by(home: Home, settings: Settings) -> EmbedderIdentity | None:
    try:
        with open_store(home, settings) as library:
            return library.about.embedder
    except RagScienceError:
        return None  # a separate finding


def _models(settings: Settings, pool: ModelPool, made_by: EmbedderIdentity | None) -> Iterator[DoctorFinding]:
    late = made_by is None or made_by.provider == "embedded"
    needed = {"embedder"}
    if settings.rerank in ("cross-encoder", "llm"):
        needed.add("reranker")
    if settings.answerer in ("llm", "ollama"):
        needed.add("answer")
    yield from machine_checks.models(pool.rows(settings, made_by, late=late), needed)


def _network(settings: Settings, pool: ModelPool) -> Iterator[DoctorFinding]:
    if settings.offline:
        yield DoctorFinding("network", "info", "Nothing was checked: offline.", "Unset RAG_OFFLINE.")
    else:
        servers = [each for name in ("llm_url", "embed_url") if (each := pool.server(settings, name)) is not None]
        yield from machine_checks.network(settings.arxiv_url, pool.ollama(settings), servers)
