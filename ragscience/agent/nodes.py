"""The five nodes of the agentic loop. Each takes the state and gives its changes, and what its step of the trace says.

An LLM, within its budget, splits the question, writes the draft and grades it; rules do what it does not. No reply of a
model raises anything or makes a run longer than its limits.
"""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from ragscience.agent.agent_state import MOST_QUERIES, AgentContext, AgentState, GradedDraft
from ragscience.agent.answer_drafts import MOST_TOLD, draft, graded, guarded, merged_found
from ragscience.agent.llm_questions import GRADE, SPLIT, LLMQuestion, Split, listed, one_line
from ragscience.agent.tools import ToolResult, ToolsUsed
from ragscience.ask.decomposition import SubQuery, in_its_papers, parts_of
from ragscience.ask.prompts import conversation
from ragscience.core.answer_records import Timings, timed
from ragscience.core.errors import RagScienceError
from ragscience.core.prompt_templates import sanitize
from ragscience.core.records import Answer, Found, Hit, Step
from ragscience.core.tokenizing import counted
from ragscience.models.model_protocols import ChatModel
from ragscience.search.names import PaperNames

T = TypeVar("T")
Done = tuple[dict[str, Any], dict[str, Any]]
"""What a node changes of the state, and the fields of its `Step`."""

_STEP_SECONDS = 120.0
"""Longest time for one structured question to the LLM."""
_MOST_TITLES = 40
_SUMMED = ("llm", "check", "presence", "quotes")
"""Stages of an answer that those of all drafts are added up for."""


class Nodes:
    """The nodes over one context."""

    def __init__(self, context: AgentContext) -> None:
        self._context = context
        self._limits = context.limits
        self._llm = context.answering.llm
        self._spent = Counter[str]()
        """`calls` of the LLM, and tokens: `prompt` and `answer`."""
        self._given_up: set[str] = set()
        """Requests that the LLM has failed; they are not made again in this run."""
        self._warnings: list[str] = []
        """Of the node that runs."""
        self._end = time.perf_counter() + context.limits.seconds
        self.all = (self.decompose_query, self.retrieve, self.reason, self.reflect, self.generate_answer)

    def after(self, state: AgentState) -> str:
        """The node that comes next; empty at the end."""
        last = state.steps[-1] if state.steps else None
        if last is None:
            return "decompose_query"
        match last.node:
            case "decompose_query":
                return "retrieve" if last.queries else "generate_answer"
            case "retrieve" if state.fresh or len(state.rounds) == 1:
                return "reason"
            case "reason":
                return "reflect"
            case "generate_answer":
                return ""
        more = len(state.rounds) < self._limits.iterations and self._seconds_left > 0
        enough = last.node == "reflect" and state.drafts[-1].score >= self._limits.enough
        return "decompose_query" if more and not enough else "generate_answer"

    def run(self, node: Callable[[AgentState], Done], state: AgentState) -> dict[str, Any]:
        """What the node changes, with what it cost, as LangGraph takes it. Raises Cancelled."""
        self._context.answering.raise_if_cancelled()
        began, started, before = time.time(), time.perf_counter(), self._spent.copy()
        self._warnings = []
        changes, told = node(state)
        spent = self._spent - before
        tokens = {name: spent[name] for name in ("prompt", "answer")}
        step = Step(
            node.__name__,
            len(changes.get("rounds", state.rounds)),
            llm_calls=spent["calls"],
            tokens=sum(tokens.values()),
            seconds=round(time.perf_counter() - started, 3),
            started=began,
            **{"by": "rules", **told},
        )
        if self._context.on_step is not None:
            self._context.on_step(step)
        return {
            **changes,
            "steps": (*state.steps, step),
            "warnings": (*state.warnings, *self._warnings),
            "tokens": {name: state.tokens.get(name, 0) + count for name, count in tokens.items()},
        }

    def answer(self, state: AgentState) -> Answer:
        """The answer of a run that has come to its end, with its trace and all that it cost."""
        best = state.answer or state.best.answer
        stages = tuple(stage for each in state.drafts for stage in each.answer.stages if stage.name in _SUMMED)
        searches = tuple(stage for each in state.found for stage in each.stages)
        times = {"total_ms": round(1000 * sum(step.seconds for step in state.steps), 3)}
        for stage in (*stages, *searches):
            times[f"{stage.name}_ms"] = round(times.get(f"{stage.name}_ms", 0.0) + stage.ms, 3)
        return replace(
            best,
            question=self._context.request.question,
            warnings=tuple(dict.fromkeys((*state.warnings, *best.warnings))),
            timings_ms={**best.timings_ms, **times},
            tokens={**best.tokens, **state.tokens} if any(state.tokens.values()) else best.tokens,
            trace=state.steps,
            found=replace(best.found, stages=searches),
            stages=stages,
        )

    def decompose_query(self, state: AgentState) -> Done:
        """Sub-queries that were not asked yet: of the question, or of what the reflection misses."""
        request, names, first = self._context.request, self._context.answering.names, not state.rounds
        split, by = self._split(state), "llm"
        question = state.question
        if first:
            question = (split.question or request.question) if split else request.reading or request.question
        wanted = [SubQuery(question)] if first else []
        wanted += [each for text in split.queries for each in in_its_papers(text, names)] if split else []
        queue = _not_asked(wanted, state.rounds)
        if split is None or not queue:
            by, missing = "rules", () if first else state.drafts[-1].missing
            wanted += (
                parts_of(question, names, self._context.answering.split)
                if first
                else _about_missing(question, missing, names)
            )
            queue = _not_asked(wanted, state.rounds)
        rounds = (*state.rounds, tuple(queue)) if queue else state.rounds
        summary = counted(len(queue), "query", "queries") if queue else "nothing is left to ask"
        queries = tuple(query.text for query in queue)
        return {"question": question, "rounds": rounds}, {"summary": summary, "by": by, "queries": queries}

    def _split(self, state: AgentState) -> Split | None:
        """The LLM's sub-queries, or None; its question counts where there is a conversation to lean on."""
        request, last = self._context.request, state.drafts[-1] if state.drafts else None
        history = () if state.rounds else request.history[-2:]
        titles = [paper.metadata.title or paper.title or paper.file for paper in self._context.papers[:_MOST_TITLES]]
        lines = [
            *listed("Titles of some papers:", [title[:120] for title in titles]),
            *([conversation(history).strip()] if history else []),
            f"Question: {one_line(state.question if state.rounds else request.question)}",
            *listed("Asked already:", [query.text for each in state.rounds for query in each]),
            *listed("Not found yet:", last.missing if last else ()),
            *listed("Said without a passage, to be looked up:", last.unsupported if last else ()),
        ]
        split = self._asked("sub-queries", SPLIT, "\n".join(lines))
        return split if split is None or history else replace(split, question="")

    def retrieve(self, state: AgentState) -> Done:
        """Search for each sub-query, and call tools; what was found before stays."""
        found, noted, searches = list(state.found), list[str](), 0
        before = len(_ids(found))
        failed: RagScienceError | None = None
        for query in state.rounds[-1]:
            self._context.answering.raise_if_cancelled()
            # The question itself is searched for however late it is: there must be something to answer from.
            if found and not self._seconds_left:
                self._warnings.append("The agent's time was spent before everything was searched for.")
                break
            searches += 1
            try:
                found.append(self._searched(query))
            except RagScienceError as problem:
                failed = failed or problem
                noted.append(f"{query.text}: {problem}")
        if not found and failed is not None:
            raise failed
        if failed is not None:
            self._warnings.append(f"A sub-query could not be searched for: {failed}")
        notes = dict.fromkeys(state.notes)
        results = self._tools_used(state)
        for one in results:
            gave = counted(len(one.hits), "passage") if one.hits else " ".join(one.text.split())[:200]
            noted.append(f"{one.call}: {gave}")
            if one.hits:
                found.append(Found(one.call, "tool", one.hits))
            elif not one.error:
                notes[f"{one.call}: {one.text}"] = None
        whole = len(_ids(found))
        new = whole - before
        return {"found": tuple(found), "fresh": new + len(notes) - len(state.notes), "notes": tuple(notes)}, {
            "summary": f"{counted(new, 'new passage')}, {whole} in all",
            "queries": tuple(query.text for query in state.rounds[-1]),
            "notes": tuple(noted),
            "passages": whole,
            "new_passages": new,
            "searches": searches,
            "tool_calls": len(results),
        }

    def _searched(self, query: SubQuery) -> Found:
        """What the search finds for a sub-query. Raises what the search raises."""
        timings = Timings()
        with timed(timings, "search_ms"):
            found = self._context.search(query.text, query.papers)
        both = {**found.timings_ms, **timings}
        return replace(found, question=query.text, timings_ms=both, stages=(*found.stages, *timings.stages))

    def _tools_used(self, state: AgentState) -> Sequence[ToolResult]:
        use_tools, most_calls = self._context.use_tools, self._limits.tool_calls
        if use_tools is None or most_calls == 0 or not self._seconds_left or self._asking("tools") is None:
            return ()
        missing = state.drafts[-1].missing if state.drafts else ()
        wanted = "\n".join([f"Question: {one_line(state.question)}", *listed("Not found yet:", missing)])
        used: ToolsUsed = use_tools(wanted, most_calls=most_calls, seconds=self._seconds)
        self._spent.update({"calls": used.llm_calls, **used.tokens})
        return used.results

    def reason(self, state: AgentState) -> Done:
        """A draft from the merged passages."""
        whole = merged_found(state.question, state.parts, state.found, self._limits.passages)
        llm = self._llm if self._seconds_left else None
        made = draft(self._context, whole, state.notes, llm=llm, seconds=max(self._seconds_left, 0.001))
        tokens = {kind: count for kind, count in made.tokens.items() if kind in ("prompt", "answer")}
        self._spent.update({"calls": int(made.mode == "llm" or bool(tokens)), **tokens})
        claims = sum(each.verdict != "no-claim" for each in made.sentences)
        said = "a refusal" if made.refused else f"a draft of {counted(claims, 'sentence')}"
        return {"drafts": (*state.drafts, GradedDraft(made, len(state.rounds)))}, {
            "summary": f"{said} from {counted(len(whole.hits), 'passage')}",
            "by": "llm" if made.mode == "llm" else "rules",
            "passages": len(whole.hits),
        }

    def reflect(self, state: AgentState) -> Done:
        """A grade of the draft, and what it lacks."""
        one, by = graded(state.question, state.parts, state.drafts[-1]), "rules"
        made = one.answer
        if made.mode == "llm" and not made.refused:
            said = f"Question: {one_line(state.question)}\n\nDraft:\n{sanitize(made.text)}"
            theirs = self._asked("a grade", GRADE, said, made.found.hits)
            if theirs is not None:  # the lower score counts, with what either says is missing or unsupported
                one, by = (
                    replace(
                        one,
                        score=min(one.score, theirs.score),
                        missing=tuple(dict.fromkeys((*theirs.missing, *one.missing)))[:MOST_TOLD],
                        unsupported=tuple(dict.fromkeys((*theirs.unsupported, *one.unsupported)))[:MOST_TOLD],
                        why="the model's grade" if theirs.score < one.score else one.why,
                    ),
                    "llm",
                )
        better = all(one.rank > each.rank for each in state.drafts[:-1])
        return {"drafts": (*state.drafts[:-1], one)}, {
            "summary": f"{one.score:.2f} ({one.why})" + ("" if better else ", not better than before"),
            "by": by,
            "score": one.score,
            "missing": (*one.missing, *one.unsupported),
        }

    def generate_answer(self, state: AgentState) -> Done:
        """The best draft, or the refusal where the passages support none of it."""
        best, enough = state.best, self._limits.enough
        made = guarded(best.answer, state.notes)
        if not made.refused and best.score < enough:
            passes = counted(len(state.rounds), "pass", "passes")
            said = f"After {passes} the answer is graded {best.score:.2f}, below {enough:g}: read its pages."
            self._warnings.append(said)
        return {"answer": made}, {
            "summary": "a refusal" if made.refused else f"the draft of pass {best.iteration}",
            "by": "llm" if made.mode == "llm" else "rules",
            "score": best.score,
        }

    # The budget

    @property
    def _seconds_left(self) -> float:
        return max(0.0, self._end - time.perf_counter())

    @property
    def _seconds(self) -> float:
        """For one structured question to the LLM."""
        return min(_STEP_SECONDS, self._seconds_left)

    def _asking(self, what: str) -> ChatModel | None:
        """The LLM, where it may be called for this now."""
        answering = self._context.answering
        may = self._context.steps_by_llm and what not in self._given_up and answering.circuit.allows()
        return self._llm if may and self._seconds_left else None

    def _asked(self, what: str, question: LLMQuestion[T], said: str, hits: Sequence[Hit] = ()) -> T | None:
        """The LLM's reply, or None; where a question came to nothing there is a warning, and it is not put again."""
        llm = self._asking(what)
        if llm is None:
            return None
        done = question.ask(llm, said, hits, seconds=self._seconds)
        self._spent.update({"calls": done.calls, **done.tokens})
        if done.value is None:
            self._given_up |= {"sub-queries", "a grade", "tools"} if done.problem is not None else {what}
            self._warnings.append(f"The model gave no {what.removeprefix('a ')}, so rules did: {done.failure}")
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
    papers = {each.papers for each in in_its_papers(question, names)}
    found: list[SubQuery] = []
    for phrase in missing:
        own = in_its_papers(phrase, names)
        found += own if own[0].papers else [SubQuery(phrase, files) for files in papers]
    return found


def _ids(found: Sequence[Found]) -> set[int]:
    return {hit.chunk.chunk_id for each in found for hit in each.hits}
