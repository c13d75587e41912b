"""The five nodes of the agentic loop. Each takes the state and gives its changes, with a step of the trace.

An LLM, within its budget, splits the question, writes the draft and grades it; rules do what it does not. No reply of a
model raises anything or makes a run longer than its limits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from ragscience.agent.agent_state import (
    MOST_QUERIES,
    AgentContext,
    AgentState,
    BoundedLLM,
    Spending,
    ToolsUsed,
    plain_answer,
    plain_found,
    plain_stages,
)
from ragscience.agent.answer_drafts import (
    Reflection,
    Split,
    SplitRequest,
    added_timings,
    ask_for_grade,
    ask_for_queries,
    draft,
    guarded,
    lower_of,
    own_stages,
)
from ragscience.agent.answer_drafts import reflect as reflect_by_rules
from ragscience.agent.run_searches import RunSearches, merged_found
from ragscience.ask.generation import CancellableLLM
from ragscience.ask.sides import SubQuery, in_its_papers, parts_of
from ragscience.core.errors import RagScienceError
from ragscience.core.records import Answer, Found, Stage, Step
from ragscience.models.model_protocols import ChatModel
from ragscience.models.structured_output import Structured

if TYPE_CHECKING:
    from ragscience.search.names import PaperNames

__all__ = ["Nodes"]

_STEP_SECONDS = 120.0
"""Longest time for one structured question to the LLM."""


@dataclass(frozen=True, slots=True)
class _Done:
    """What a node did: the state's changes, and its line of the trace, with further `fields` of `Step`."""

    changes: AgentState
    summary: str
    by: str = "rules"
    fields: Mapping[str, Any] = field(default_factory=dict)


def _traced(act: Callable[[Nodes, AgentState], _Done]) -> Callable[[Nodes, AgentState], AgentState]:
    """The node as LangGraph calls it: its changes of the state, with a step of the trace and what it cost."""

    @wraps(act)
    def node(self: Nodes, state: AgentState) -> AgentState:
        return self.step(act, state)

    return node


class Nodes:
    """The nodes over one context; `before` is what an interrupted run had spent."""

    def __init__(self, context: AgentContext, before: Mapping[str, float]) -> None:
        self._context = context
        self._spending = Spending(context.limits, before)
        self._llm = None if context.answering.llm is None else BoundedLLM(context.answering.llm, self._spending)
        self._given_up: set[str] = set()
        """Requests that the LLM has failed; they are not made again in this run."""
        self._searches = RunSearches(context, self._spending)

    def after_decompose(self, state: AgentState) -> str:
        """To search, or to the end where nothing is left to ask."""
        return "retrieve" if state["queue"] else "generate_answer"

    def after_retrieve(self, state: AgentState) -> str:
        """To a draft if there is new evidence."""
        if state["fresh"] or state["iteration"] == 1:
            return "reason"
        return self._again(state)

    def after_reflect(self, state: AgentState) -> str:
        """To the end where the draft is good enough, else to another pass within the limits."""
        enough = state["feedback"]["score"] >= self._context.limits.enough
        return "generate_answer" if enough else self._again(state)

    def _again(self, state: AgentState) -> str:
        more = state["iteration"] < self._context.limits.iterations and self._spending.may_go_on()
        return "decompose_query" if more else "generate_answer"

    def answer(self, state: AgentState) -> Answer:
        """The answer of a run that has come to its end, with its trace and all that it cost."""
        spent = state["spent"]
        best = self._searches.answer_of(state["draft"])
        used = {"prompt": int(spent["prompt_tokens"]), "answer": int(spent["answer_tokens"])}
        found = [self._searches.found_of(each) for each in state["found"]]
        search_ms = sum(each.timings_ms.get("search_ms", 0.0) for each in found)
        searched = tuple(stage for each in found for stage in each.stages)
        times = {"search_ms": round(search_ms, 3), "total_ms": round(1000 * spent["seconds"], 3)}
        return replace(
            best,
            question=self._context.request.question,
            warnings=tuple(dict.fromkeys((*state["warnings"], *best.warnings))),
            timings_ms={**best.timings_ms, **state["timings"], **times},
            tokens={**best.tokens, **used} if any(used.values()) else best.tokens,
            trace=tuple(_step_of(plain) for plain in state["steps"]),
            found=replace(best.found, stages=searched),
            stages=tuple(Stage(*stage) for stage in state["stages"]),
        )

    @_traced
    def decompose_query(self, state: AgentState) -> _Done:
        """Sub-queries that were not asked yet: of the question, or of what the reflection misses."""
        context, asked = self._context, state["asked"]
        first = not asked
        split, warnings = self._split(state)
        question = state["question"]
        if first:
            question = split.question if split else context.request.reading or context.request.question
        wanted = [SubQuery(question)] if first else []
        names = context.answering.names
        wanted += [each for text in split.queries for each in in_its_papers(text, names)] if split else []
        queue, by = _not_asked(wanted, asked), "llm"
        if split is None or not queue:
            by = "rules"
            wanted += (
                parts_of(question, names) if first else _about_missing(question, state["feedback"]["missing"], names)
            )
            queue = _not_asked(wanted, asked)
        texts = [query.text for query in queue]
        plain = [{"text": query.text, "papers": list(query.papers)} for query in queue]
        return _Done(
            {
                "question": question,
                "iteration": state["iteration"] + bool(queue),
                "asked": [*asked, *plain],
                "parts": texts if first else state["parts"],
                "queue": plain,
                "warnings": [*state["warnings"], *warnings],
            },
            _count(len(queue), "query", "queries") if queue else "nothing is left to ask",
            by,
            {"queries": tuple(texts)},
        )

    def _split(self, state: AgentState) -> tuple[Split | None, list[str]]:
        """The LLM's sub-queries, or None; and what is to be said about it."""
        llm = self._asking("sub-queries")
        if llm is None:
            return None, []
        first = not state["asked"]
        request, feedback = self._context.request, state["feedback"]
        wanted = SplitRequest(
            request.question if first else state["question"],
            request.history if first else (),
            self._context.papers,
            [query["text"] for query in state["asked"]],
            feedback["missing"],
            feedback["unsupported"],
        )
        done = ask_for_queries(llm, wanted, seconds=self._step_seconds())
        return done.value, self._given_up_on("sub-queries", done)

    @_traced
    def retrieve(self, state: AgentState) -> _Done:
        """Search for each sub-query, and call tools; what was found before stays."""
        found, warnings, notes_of_step = list(state["found"]), list(state["warnings"]), []
        known = _ids(found)
        before = len(known)
        failed: RagScienceError | None = None
        for query in state["queue"]:
            self._context.answering.raise_if_cancelled()
            # The question itself is searched for however late it is: there must be something to answer from.
            if found and not self._spending.may_go_on():
                warnings.append("The agent's budget was spent before everything was searched for.")
                break
            try:
                each = self._searches.found_for(query["text"], tuple(query["papers"]))
            except RagScienceError as problem:
                failed = failed or problem
                notes_of_step.append(f"{query['text']}: {problem}")
                continue
            self._searches.keep(each)
            found.append(plain_found(each))
        if not found and failed is not None:
            raise failed
        if failed is not None:
            warnings.append(f"A sub-query could not be searched for: {failed}")
        notes = list(state["notes"])
        for note in self._used_tools(state).notes:
            gave = _count(len(note.hits), "passage", "passages") if note.hits else " ".join(note.text.split())[:200]
            notes_of_step.append(f"{note.call}: {gave}")
            if note.hits:
                each = Found(note.call, "tool", note.hits)
                self._searches.keep(each)
                found.append(plain_found(each))
            elif not note.error:
                notes.append(f"{note.call}: {note.text}")
        known = _ids(found)
        new = len(known) - before
        changes: AgentState = {
            "found": found,
            "fresh": new + len(notes) - len(state["notes"]),
            "notes": list(dict.fromkeys(notes)),
            "warnings": warnings,
        }
        queries = tuple(query["text"] for query in state["queue"])
        counted = {"queries": queries, "notes": tuple(notes_of_step), "passages": len(known), "new_passages": new}
        return _Done(changes, f"{_count(new, 'new passage', 'new passages')}, {len(known)} in all", fields=counted)

    def _used_tools(self, state: AgentState) -> ToolsUsed:
        context, spending = self._context, self._spending
        if context.use_tools is None or not spending.may_go_on() or context.limits.tool_calls == 0:
            return ToolsUsed()
        by_llm = self._asking("tools") is not None
        if not by_llm and state["iteration"] > 1:
            return ToolsUsed()  # rules choose the same tools each time
        used = context.use_tools(
            state["question"],
            state["feedback"]["missing"],
            by_llm=by_llm,
            most_calls=context.limits.tool_calls,
            seconds=self._step_seconds(),
        )
        spending.tool_calls += len(used.notes)
        spending.llm_calls += used.llm_calls
        spending.prompt_tokens += used.prompt_tokens
        spending.answer_tokens += used.answer_tokens
        return used

    @_traced
    def reason(self, state: AgentState) -> _Done:
        """A draft from the merged passages."""
        found = [self._searches.found_of(each) for each in state["found"]]
        whole = merged_found(state["question"], state["parts"], found, self._context.limits.passages)
        llm = self._llm if self._spending.may_ask() else None
        seconds = max(self._spending.seconds_left, 0.001)
        made = draft(self._context, whole, state["notes"], llm=llm, seconds=seconds)
        claims = sum(each.verdict != "no-claim" for each in made.sentences)
        summary = "a refusal" if made.refused else f"a draft of {_count(claims, 'sentence', 'sentences')}"
        return _Done(
            {
                "draft": plain_answer(made),
                "timings": added_timings(state["timings"], made),
                "stages": [*state["stages"], *plain_stages(own_stages(made))],
            },
            f"{summary} from {_count(len(whole.hits), 'passage', 'passages')}",
            "llm" if made.mode == "llm" else "rules",
            {"passages": len(whole.hits)},
        )

    @_traced
    def reflect(self, state: AgentState) -> _Done:
        """A grade of the draft, and what it lacks; the best draft is kept."""
        made = self._searches.answer_of(state["draft"])
        grade = reflect_by_rules(state["question"], state["parts"], made)
        warnings, by = list(state["warnings"]), "rules"
        llm = self._asking("a grade") if made.mode == "llm" and not made.refused else None
        if llm is not None:
            done = ask_for_grade(llm, state["question"], made, seconds=self._step_seconds())
            warnings += self._given_up_on("a grade", done)
            if done.value is not None:
                grade, by = lower_of(grade, done.value), "llm"
        better = _rank(grade, made) > tuple(state["best"].get("rank", ()))
        best = {"draft": state["draft"], "rank": list(_rank(grade, made)), "iteration": state["iteration"]}
        feedback = {"score": grade.score, "missing": list(grade.missing), "unsupported": list(grade.unsupported)}
        return _Done(
            {"feedback": feedback, "best": best if better else state["best"], "warnings": warnings},  # type: ignore[typeddict-item]  # the three keys of Feedback
            f"{grade.score:.2f} ({grade.why})" + ("" if better else ", not better than before"),
            by,
            {"score": grade.score, "missing": (*grade.missing, *grade.unsupported)},
        )

    @_traced
    def generate_answer(self, state: AgentState) -> _Done:
        """The best draft, or the refusal where the passages support none of it."""
        best, enough = state["best"], self._context.limits.enough
        made = guarded(self._searches.answer_of(best["draft"]), state["notes"])
        score, warnings = best["rank"][1], list(state["warnings"])
        if not made.refused and score < enough:
            passes = _count(state["iteration"], "pass", "passes")
            warnings.append(f"After {passes} the answer is graded {score:.2f}, below {enough:g}: read its pages.")
        summary = "a refusal" if made.refused else f"the draft of pass {best['iteration']}"
        changes: AgentState = {"draft": plain_answer(made), "warnings": warnings}
        return _Done(changes, summary, "llm" if made.mode == "llm" else "rules", {"score": score})

    def step(self, act: Callable[[Nodes, AgentState], _Done], state: AgentState) -> AgentState:
        """Act, and record what it cost. Raises Cancelled."""
        self._context.answering.raise_if_cancelled()
        before, began, started = self._spending.plain(), time.time(), time.perf_counter()
        done = act(self, state)
        spent = self._spending.plain()
        cost = {name: int(spent[name] - before.get(name, 0)) for name in spent}
        step = Step(
            act.__name__,
            done.changes.get("iteration", state["iteration"]),
            done.summary,
            done.by,
            searches=cost["searches"],
            llm_calls=cost["llm_calls"],
            tool_calls=cost["tool_calls"],
            tokens=cost["prompt_tokens"] + cost["answer_tokens"],
            seconds=round(time.perf_counter() - started, 3),
            started=began,
            **done.fields,
        )
        if self._context.on_step is not None:
            self._context.on_step(step)
        return {**done.changes, "steps": [*state["steps"], asdict(step)], "spent": spent}

    def _asking(self, what: str) -> ChatModel | None:
        """The LLM, where it may be called for this now."""
        if self._llm is None or not self._context.steps_by_llm:
            return None
        may = self._spending.may_ask() and self._context.answering.circuit.allows() and what not in self._given_up
        return CancellableLLM(self._llm, self._context.answering.cancelled) if may else None

    def _given_up_on(self, what: str, done: Structured[Any]) -> list[str]:
        """The warning about a question that came to nothing; it is not put again."""
        if done.value is not None:
            return []
        self._given_up |= {"sub-queries", "a grade", "tools"} if done.problem is not None else {what}
        return [f"The model gave no {what.removeprefix('a ')}, so rules did: {done.failure}"]

    def _step_seconds(self) -> float:
        return min(_STEP_SECONDS, self._spending.seconds_left)


def _not_asked(wanted: Sequence[SubQuery], asked: Sequence[Mapping[str, Any]]) -> list[SubQuery]:
    """The first MOST_QUERIES of `wanted` that are new, each once; case, blanks and closing marks are ignored."""
    known = {(_folded(each["text"]), tuple(each["papers"])) for each in asked}
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


def _ids(found: Sequence[Mapping[str, Any]]) -> set[int]:
    return {hit["chunk_id"] for each in found for hit in each["hits"]}


def _rank(grade: Reflection, made: Answer) -> tuple[bool, float]:
    """The sort key of drafts: no refusal first, then the score."""
    return (not made.refused, grade.score)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _step_of(plain: Mapping[str, Any]) -> Step:
    return Step(**{**plain, **{name: tuple(plain[name]) for name in ("queries", "notes", "missing")}})
