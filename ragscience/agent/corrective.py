"""A second look at what a search found: is it right, doubtful or wrong, and what other words may find.

After Yan et al. 2024, "Corrective Retrieval Augmented Generation", without the web: an evaluator judges the passages.
What is doubtful is searched for once more in other words, and what that finds is added after the first passages. What
is wrong is said, and refused under `strict`.

An LLM judges and rewrites where there is one. Without one `answerability` (ask/confidence.py) is the judge, with two
thresholds, and nothing is searched again: docs/choices.md. The judgement is always about the question as it was asked:
one of its rewritten form would find its own words in the passages, and refuse too little.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ragscience.agent.llm_questions import JUDGE, REWRITE, LLMQuestion, one_line
from ragscience.ask.decomposition import together
from ragscience.core.errors import ModelProblem
from ragscience.core.records import Found, Hit
from ragscience.core.tokenizing import tokenize
from ragscience.models.model_protocols import ChatModel

T = TypeVar("T")
CORRECT, AMBIGUOUS, INCORRECT = "correct", "ambiguous", "incorrect"
_VERDICTS = {"yes": CORRECT, "no": INCORRECT, "ambiguous": AMBIGUOUS}
CORRECT_FROM = 0.6
INCORRECT_BELOW = 0.15
"""Of `answerability`. Questions whose papers the fit had not seen, development set: below 0.15 are 1 % of the searches
that had an answer to find and 58 % of the others, from 0.6 on 85 % and 5 %."""
EXTRA_PASSAGES = 4
"""How many passages a second search may add. Put in the place of first ones they cost more than they brought."""
_JUDGED_PASSAGES = 4


@dataclass(slots=True)
class Corrective:
    """A searcher with a second look, for one answer."""

    search: Callable[[str], Found]
    """What the question is first searched for by."""
    again: Callable[[str], Found]
    """The second search, for the reworded question."""
    likely: Callable[[Found], float]
    """How likely what was found answers its question, 0 to 1: the judge without an LLM."""
    llm: ChatModel | None
    """One that failed in any way is not called again."""
    on_failure: Callable[[str], None]
    """Receives a failure of the LLM's server."""
    most_passages: int
    """Most passages where a second search adds to the first."""
    seconds: float
    """Of each call of the LLM."""

    def __call__(self, question: str) -> Found:
        """What was found, with its verdict and what is to be said of it. Raises what the first search raises."""
        found = self.search(question)
        verdict, warnings = self._judged(question, found), list[str]()
        if verdict == AMBIGUOUS and (other := self._reworded(question, found)):
            before = len(found.hits)
            try:
                found = joined(found, self.again(other), self.most_passages)
            except ModelProblem as problem:
                warnings.append(f"The search could not be repeated: {problem}")
            if added := found.hits[before:]:
                verdict = self._judged(question, found, added) if self.llm else verdict
                said = "1 passage was" if len(added) == 1 else f"{len(added)} passages were"
                warnings.append(f"It was not clear that the passages answer this. {said} added by another search.")
        if verdict == INCORRECT:
            warnings.append("What was found does not seem to answer the question.")
        return replace(found, warnings=(*found.warnings, *warnings), verdict=verdict)

    def _judged(self, question: str, found: Found, added: Sequence[Hit] = ()) -> str:
        """The verdict on what was found, by its best passages and those `added`; nothing at all is wrong unasked."""
        if not found.hits:
            return INCORRECT
        said = self._asked(JUDGE, question, (*found.hits[:_JUDGED_PASSAGES], *added))
        if said:
            return _VERDICTS[said.answers]
        score = self.likely(found)
        return CORRECT if score >= CORRECT_FROM else INCORRECT if score < INCORRECT_BELOW else AMBIGUOUS

    def _reworded(self, question: str, found: Found) -> str:
        """The question as the LLM rewords it; empty without one, or where that gives nothing new."""
        said = self._asked(REWRITE, question, found.hits[:_JUDGED_PASSAGES])
        return said.question if said and tokenize(said.question) != tokenize(question) else ""

    def _asked(self, what: LLMQuestion[T], question: str, hits: Sequence[Hit]) -> T | None:
        if self.llm is None:
            return None
        done = what.ask(self.llm, f"\nQuestion: {one_line(question)}", hits, seconds=self.seconds)
        if done.value is None:
            self.llm = None
        if done.problem is not None:
            self.on_failure(str(done.problem))
        return done.value


def joined(first: Found, second: Found, most_passages: int) -> Found:
    """The first search with those passages of the second that it had not, after its own: `EXTRA_PASSAGES` at most.

    Signals and question are those of the first, so that a rewritten question does not judge itself.
    """
    known = {hit.chunk.chunk_id for hit in first.hits}
    room = min(EXTRA_PASSAGES, max(most_passages - len(first.hits), 0))
    new = [hit for hit in second.hits if hit.chunk.chunk_id not in known][:room]
    return replace(together(first, [second], [*first.hits, *new]), parts=first.parts)
