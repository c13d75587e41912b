"""The five nodes of the agentic loop. Each takes the state and gives its changes, with a step of the trace.

An LLM, within its budget, splits the question, writes the draft and grades it; rules do what it does not. No reply of a
model raises anything or makes a run longer than its limits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

from ragscience.agent.agent_state import (
    MOST_QUERIES,
    AgentContext,
    AgentState,
    CountedLLM,
    GradedDraft,
    RunningStep,
    ToolsUsed,
)
from ragscience.agent.answer_drafts import draft, guarded, lower_of, merged_found, reflect
from ragscience.agent.llm_questions import Split, SplitRequest, ask_for_grade, ask_for_queries
from ragscience.ask.generation import CancellableLLM
from ragscience.ask.sides import SubQuery, in_its_papers, parts_of
from ragscience.core.answer_records import Timings, timed
from ragscience.core.errors import RagScienceError
from ragscience.core.records import Answer, Found, Step
from ragscience.core.tokenizing import counted
from ragscience.models.model_protocols import ChatModel
from ragscience.models.structured_output import Structured

if TYPE_CHECKING:
    from ragscience.search.names import PaperNames


_T = TypeVar("_T")

_SUMMED = ("llm_ms", "check_ms", "presence_ms", "quotes_ms")
"""Times of an answer that those of all drafts are added up for."""


_Act = Callable[["Nodes", AgentState, RunningStep], None]


def _traced(act: _Act) -> Callable[[Nodes, AgentState], dict[str, Any]]:
    """The node as LangGraph calls it: its changes of the state, with a step of the trace. Raises Cancelled."""

    @wraps(act)
    def node(self: Nodes, state: AgentState) -> dict[str, Any]:
        return self.traced(act, state)

    return node


class Nodes:
    """The nodes over one context."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._given_up: set[str] = set()
        """Requests that the LLM has failed; they are not made again in this run."""

    def after(self, state: AgentState) -> str:
        """The node that comes next; empty at the end."""
        last, limits = state.steps[-1] if state.steps else None, self._context.limits
        if last is None:
            return "decompose_query"
        enough = bool(state.drafts) and state.drafts[-1].grade.score >= limits.enough
        match last.node:
            case "decompose_query":
                return "retrieve" if last.queries else "generate_answer"
            case "retrieve" if state.fresh or len(state.rounds) == 1:
                return "reason"
            case "reason":
                return "reflect"
            case "generate_answer":
                return ""
        more = len(state.rounds) < limits.iterations and RunningStep(limits, state.steps).may_go_on
        return "decompose_query" if more and not (last.node == "reflect" and enough) else "generate_answer"

    def answer(self, state: AgentState) -> Answer:
        """The answer of a run that has come to its end, with its trace and all that it cost."""
        best = state.answer or state.best.answer
        made = [each.answer for each in state.drafts]
        times = {name: [each.timings_ms[name] for each in made if name in each.timings_ms] for name in _SUMMED}
        summed = {name: round(sum(each), 3) for name, each in times.items() if each}
        searched = sum(each.timings_ms.get("search_ms", 0.0) for each in state.found)
        whole = sum(step.seconds for step in state.steps)
        stages = tuple(stage for each in made for stage in each.stages if f"{stage.name}_ms" in _SUMMED)
        return replace(
            best,
            question=self._context.request.question,
            warnings=tuple(dict.fromkeys((*state.warnings, *best.warnings))),
            timings_ms={
                **best.timings_ms, **summed, "search_ms": round(searched, 3), "total_ms": round(1000 * whole, 3)
            },
            tokens={**best.tokens, **state.tokens} if any(state.tokens.values()) else best.tokens,
            trace=state.steps,
            found=replace(best.found, stages=tuple(stage for each in state.found for stage in each.stages)),
            stages=stages,
        )  # fmt: skip

    @_traced
    def decompose_query(self, state: AgentState, step: RunningStep) -> None:
        """Sub-queries that were not asked yet: of the question, or of what the reflection misses."""
        request, names, first = self._context.request, self._context.answering.names, not state.rounds
        split = self._split(state, step)
        question = state.question
        if first:
            question = split.question if split else request.reading or request.question
        wanted = [SubQuery(question)] if first else []
        wanted += [each for text in split.queries for each in in_its_papers(text, names)] if split else []
        queue, step.by = _not_asked(wanted, state.rounds), "llm"
        if split is None or not queue:
            step.by = "rules"
            missing = () if first else state.drafts[-1].grade.missing
            wanted += parts_of(question, names) if first else _about_missing(question, missing, names)
            queue = _not_asked(wanted, state.rounds)
        step.changes = {"question": question, "rounds": (*state.rounds, tuple(queue)) if queue else state.rounds}
        step.summary = counted(len(queue), "query", "queries") if queue else "nothing is left to ask"
        step.fields = {"queries": tuple(query.text for query in queue)}

    def _split(self, state: AgentState, step: RunningStep) -> Split | None:
        """The LLM's sub-queries, or None; with the question itself where there is no conversation to lean on."""
        llm = self._asking("sub-queries", step)
        if llm is None:
            return None
        request, grade = self._context.request, state.drafts[-1].grade if state.drafts else None
        wanted = SplitRequest(
            state.question if state.rounds else request.question,
            () if state.rounds else request.history,
            self._context.papers,
            [query.text for each in state.rounds for query in each],
            grade.missing if grade else (),
            grade.unsupported if grade else (),
        )
        done = ask_for_queries(llm, wanted, seconds=step.seconds)
        split = self._value("sub-queries", done, step)
        rewritten = split.question if split and wanted.history else ""
        return split and replace(split, question=rewritten or wanted.question)

    @_traced
    def retrieve(self, state: AgentState, step: RunningStep) -> None:
        """Search for each sub-query, and call tools; what was found before stays."""
        found, noted = list(state.found), list[str]()
        before = len(_ids(found))
        failed: RagScienceError | None = None
        for query in state.rounds[-1]:
            self._context.answering.raise_if_cancelled()
            # The question itself is searched for however late it is: there must be something to answer from.
            if found and not step.may_go_on:
                step.warnings.append("The agent's budget was spent before everything was searched for.")
                break
            try:
                found.append(self._searched(query, step))
            except RagScienceError as problem:
                failed = failed or problem
                noted.append(f"{query.text}: {problem}")
        if not found and failed is not None:
            raise failed
        if failed is not None:
            step.warnings.append(f"A sub-query could not be searched for: {failed}")
        notes = dict.fromkeys(state.notes)
        step.tools = self._used_tools(state, step)
        for note in step.tools.notes:
            gave = counted(len(note.hits), "passage") if note.hits else " ".join(note.text.split())[:200]
            noted.append(f"{note.call}: {gave}")
            if note.hits:
                found.append(Found(note.call, "tool", note.hits))
            elif not note.error:
                notes[f"{note.call}: {note.text}"] = None
        whole = len(_ids(found))
        new = whole - before
        step.changes = {"found": tuple(found), "fresh": new + len(notes) - len(state.notes), "notes": tuple(notes)}
        step.summary = f"{counted(new, 'new passage')}, {whole} in all"
        queries = tuple(query.text for query in state.rounds[-1])
        step.fields = {"queries": queries, "notes": tuple(noted), "passages": whole, "new_passages": new}

    def _searched(self, query: SubQuery, step: RunningStep) -> Found:
        """What the search finds for a sub-query. Raises what the search raises."""
        step.searches += 1
        timings = Timings()
        with timed(timings, "search_ms"):
            found = self._context.search(query.text, query.papers)
        both = {**found.timings_ms, **timings}
        return replace(found, question=query.text, timings_ms=both, stages=(*found.stages, *timings.stages))

    def _used_tools(self, state: AgentState, step: RunningStep) -> ToolsUsed:
        context = self._context
        if context.use_tools is None or not step.may_go_on or context.limits.tool_calls == 0:
            return ToolsUsed()
        if self._asking("tools", step) is None:
            return ToolsUsed()
        return context.use_tools(
            state.question,
            state.drafts[-1].grade.missing if state.drafts else (),
            most_calls=context.limits.tool_calls,
            seconds=step.seconds,
        )

    @_traced
    def reason(self, state: AgentState, step: RunningStep) -> None:
        """A draft from the merged passages."""
        whole = merged_found(state.question, state.parts, state.found, self._context.limits.passages)
        llm = self._counted(step) if step.may_go_on else None
        seconds = max(step.seconds_left, 0.001)
        made = draft(self._context, whole, state.notes, llm=llm, seconds=seconds)
        claims = sum(each.verdict != "no-claim" for each in made.sentences)
        said = "a refusal" if made.refused else f"a draft of {counted(claims, 'sentence')}"
        step.changes = {"drafts": (*state.drafts, GradedDraft(made, len(state.rounds)))}
        step.summary = f"{said} from {counted(len(whole.hits), 'passage')}"
        step.by, step.fields = "llm" if made.mode == "llm" else "rules", {"passages": len(whole.hits)}

    @_traced
    def reflect(self, state: AgentState, step: RunningStep) -> None:
        """A grade of the draft, and what it lacks."""
        made = state.drafts[-1].answer
        grade = reflect(state.question, state.parts, made)
        llm = self._asking("a grade", step) if made.mode == "llm" and not made.refused else None
        if llm is not None:
            done = ask_for_grade(llm, state.question, made.text, made.found.hits, seconds=step.seconds)
            theirs = self._value("a grade", done, step)
            if theirs is not None:
                grade, step.by = lower_of(grade, theirs), "llm"
        graded = replace(state.drafts[-1], grade=grade)
        better = all(graded.rank > each.rank for each in state.drafts[:-1])
        step.changes = {"drafts": (*state.drafts[:-1], graded)}
        step.summary = f"{grade.score:.2f} ({grade.why})" + ("" if better else ", not better than before")
        step.fields = {"score": grade.score, "missing": (*grade.missing, *grade.unsupported)}

    @_traced
    def generate_answer(self, state: AgentState, step: RunningStep) -> None:
        """The best draft, or the refusal where the passages support none of it."""
        best, enough = state.best, self._context.limits.enough
        made, score = guarded(best.answer, state.notes), best.grade.score
        if not made.refused and score < enough:
            passes = counted(len(state.rounds), "pass", "passes")
            step.warnings.append(f"After {passes} the answer is graded {score:.2f}, below {enough:g}: read its pages.")
        step.changes, step.fields = {"answer": made}, {"score": score}
        step.summary = "a refusal" if made.refused else f"the draft of pass {best.iteration}"
        step.by = "llm" if made.mode == "llm" else "rules"

    def traced(self, act: _Act, state: AgentState) -> dict[str, Any]:
        """What the node changes, with what it cost. Raises Cancelled."""
        self._context.answering.raise_if_cancelled()
        began, step = time.time(), RunningStep(self._context.limits, state.steps)
        act(self, state, step)
        tokens = step.tokens()
        done = Step(
            act.__name__,
            len(step.changes.get("rounds", state.rounds)),
            step.summary,
            step.by,
            searches=step.searches,
            llm_calls=(step.llm.calls if step.llm else 0) + step.tools.llm_calls,
            tool_calls=len(step.tools.notes),
            tokens=sum(tokens.values()),
            seconds=round(time.perf_counter() - step.started, 3),
            started=began,
            **step.fields,
        )
        if self._context.on_step is not None:
            self._context.on_step(done)
        return {
            **step.changes,
            "steps": (*state.steps, done),
            "warnings": (*state.warnings, *step.warnings),
            "tokens": {name: state.tokens.get(name, 0) + count for name, count in tokens.items()},
        }

    def _counted(self, step: RunningStep) -> CountedLLM | None:
        """The LLM, whose replies count for this step."""
        if self._context.answering.llm is None:
            return None
        step.llm = step.llm or CountedLLM(self._context.answering.llm)
        return step.llm

    def _asking(self, what: str, step: RunningStep) -> ChatModel | None:
        """The LLM, where it may be called for this now."""
        answering = self._context.answering
        may = self._context.steps_by_llm and what not in self._given_up and answering.circuit.allows()
        llm = self._counted(step) if may and step.may_go_on else None
        return llm and CancellableLLM(llm, answering.cancelled)

    def _value(self, what: str, done: Structured[_T], step: RunningStep) -> _T | None:
        """What the LLM said; where a question came to nothing there is a warning, and it is not put again."""
        if done.value is None:
            self._given_up |= {"sub-queries", "a grade", "tools"} if done.problem is not None else {what}
            step.warnings.append(f"The model gave no {what.removeprefix('a ')}, so rules did: {done.failure}")
        return done.value


def _not_asked(wanted: Sequence[SubQuery], rounds: Sequence[Sequence[SubQuery]]) -> list[SubQuery]:
    """The first MOST_QUERIES of `wanted` that are new, each once; case, blanks and closing marks are ignored."""
    known = {(_folded(query.text), query.papers) for each in rounds for query in each}
    new = {(_folded(query.text), query.papers): query for query in reversed(wanted) if _folded(query.text)}
    return [query for key, query in reversed(new.items()) if key not in known][:MOST_QUERIES]


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(" ?.!") or text.strip()


def _about_missing(question: str, missing: Sequence[str], names: PaperNames | None) -> list[SubQuery]:
    """A search for each thing that no passage says yet, within the papers that it or the question names."""
    of_question = [each for each in in_its_papers(question, names) if each.papers]
    found: list[SubQuery] = []
    for phrase in missing:
        own = [each for each in in_its_papers(phrase, names) if each.papers]
        found += own or [SubQuery(phrase, each.papers) for each in of_question] or [SubQuery(phrase)]
    return found


def _ids(found: Sequence[Found]) -> set[int]:
    return {hit.chunk.chunk_id for each in found for hit in each.hits}
