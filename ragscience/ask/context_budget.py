"""What goes into a prompt where not everything fits: the rule by which passages, history and answer share the window.

The window is the smaller of the model's own context and the setting `num_ctx`, in tokens. In this order:

1. The answer gets `max_answer_tokens`, but at most a third of the window.
2. The rules, the request and the question are always sent. If they fill the window, the model is not called.
3. Earlier turns, the newest first, may take a quarter of what is left; the newest one is cut if it is longer.
4. The passages get the rest, the best first. Where that is not enough, the lowest-ranked passage is left out, and so
   on down to the best one; then the oldest turn is, and so on; then the best passage is cut at the end of a sentence.

Names of related concepts are sent where they and a passage fit, else left out without a word.

The answer's warnings list what is left out. Tokens are the counter's estimate, which errs on the high side and is
corrected by each count of the server (models/token_counting.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ragscience.ask.prompts import Prompts, concepts_text, conversation, fenced_text, passage_text, turn_text
from ragscience.core.errors import ModelProblem
from ragscience.core.records import Found, Hit, Turn
from ragscience.core.sentences import split_sentences
from ragscience.models.token_counting import PER_MESSAGE

CUT_MARK = " […]"
"""Stands where a passage or an earlier answer was cut."""
CONDENSE_TOKENS = 256
"""Longest rewritten question, in tokens, with what a model says around it."""
HISTORY_SHARE = 4
"""Earlier turns may take one in so many tokens of what passages and history share."""
CONCEPTS_SHARE = 4
"""Related concepts, with a little more, may take one in so many tokens of it."""
SMALLEST_PASSAGE = 48
"""Least tokens of a piece of a passage that is sent."""

_OPEN_MARK = re.compile(r"<page [^>]*\Z")
"""A page mark that the cut went through."""

Count = Callable[[str], int]
"""Text to tokens."""


@dataclass(frozen=True, slots=True)
class Window:
    """The tokens that prompt and answer share."""

    tokens: int
    max_answer_tokens: int
    count: Count
    """Tokens of a text."""

    @property
    def answer_reserve(self) -> int:
        """Tokens kept free for the answer."""
        return min(self.max_answer_tokens, self.tokens // 3)


@dataclass(frozen=True, slots=True)
class Plan:
    """What is sent, and what is left out."""

    passages: tuple[tuple[Hit, str], ...]
    """Best first, each with its text as it is inside its fence."""
    history: tuple[Turn, ...]
    """Oldest first."""
    answer_tokens: int
    """Longest answer."""
    warnings: tuple[str, ...]
    """What was left out or cut."""
    concepts: str = ""
    """What follows the passages, as `prompts.concepts_text` made it; empty where it does not fit."""

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The passages that the model is given."""
        return tuple(hit for hit, _ in self.passages)


def plan(found: Found, history: Sequence[Turn], *, prompts: Prompts, window: Window) -> Plan:
    """Share the window out by the rule at the top of this file.

    Raises ModelProblem if no passage fits next to the rules and the question.
    """
    question, hits, count = found.question, found.hits, window.count
    concepts = concepts_text(found.concepts)
    fixed = 2 * PER_MESSAGE + count(prompts.rules_text()) + count(prompts.request_text("", "", question))
    room = window.tokens - window.answer_reserve - fixed
    if room < SMALLEST_PASSAGE:
        raise ModelProblem(
            f"The rules and the question take about {fixed} of {window.tokens} tokens, which leaves no room for a "
            "passage.",
            "Raise RAG_NUM_CTX, or ask in fewer words.",
        )
    if concepts and count(concepts) + SMALLEST_PASSAGE > room // CONCEPTS_SHARE:
        concepts = ""
    size = count(concepts) if concepts else 0
    fixed, room = fixed + size, room - size
    turns = _newest(history, room // HISTORY_SHARE, count, turn_text)
    texts = [(hit, fenced_text(hit.chunk)) for hit in hits]
    sizes = [count(passage_text(hit, text)) for hit, text in texts]
    kept = len(sizes)
    while kept > 1 and sum(sizes[:kept]) + _size(turns, count) > room:
        kept -= 1
    while turns and sum(sizes[:kept]) + _size(turns, count) > room:
        turns = turns[1:]
    cut = kept == 1 and sizes[0] > room
    if cut:
        hit, text = texts[0]
        around = count(passage_text(hit, ""))
        texts[0] = (hit, cut_text(text, max(1, room - around), count))
        sizes[0] = around + count(texts[0][1])
    used = fixed + sum(sizes[:kept]) + _size(turns, count)
    return Plan(
        tuple(texts[:kept]),
        turns,
        max(window.answer_reserve, min(window.max_answer_tokens, window.tokens - used)),
        _warnings(len(hits) - kept, len(hits), len(history) - len(turns), window.tokens, cut=cut),
        concepts,
    )


def condense_history(
    question: str, history: Sequence[Turn], *, prompts: Prompts, window: Window
) -> tuple[tuple[Turn, ...], int]:
    """The newest turns that fit into the prompt for rewriting a question, and the longest reply in tokens."""
    reply = min(CONDENSE_TOKENS, window.tokens // 4)
    room = window.tokens - reply - PER_MESSAGE - window.count(prompts.condense_text("", question))
    return _newest(history, room, window.count, turn_text), reply


def cut_text(text: str, most: int, count: Count) -> str:
    """The beginning of `text` in at most `most` tokens, up to the end of a sentence, else of a word; with a mark."""
    most -= count(CUT_MARK)
    ends = [span.end for span in split_sentences(text)]
    words = [at for at, character in enumerate(text) if character.isspace()]
    for places in (ends, words):
        end = _last_that_fits(text, places, most, count)
        if end:
            return _OPEN_MARK.sub("", text[:end]).rstrip() + CUT_MARK
    return CUT_MARK.strip()


def _last_that_fits(text: str, places: Sequence[int], most: int, count: Count) -> int:
    """The last of the rising `places` up to which the text has at most `most` tokens; 0 where none has."""
    low, high = 0, len(places)
    while low < high:
        middle = (low + high) // 2
        if count(text[: places[middle]]) <= most:
            low = middle + 1
        else:
            high = middle
    return places[low - 1] if low else 0


def _newest(history: Sequence[Turn], room: int, count: Count, shown: Callable[[Turn], str]) -> tuple[Turn, ...]:
    """The newest turns that fit, oldest first; the newest is shortened where it alone does not fit."""
    kept: list[Turn] = []
    for turn in reversed(history):
        size = count(shown(turn))
        if size > room and not kept:
            bare = count(shown(Turn(turn.question, "")))
            if bare + SMALLEST_PASSAGE <= room:
                kept.append(Turn(turn.question, cut_text(turn.answer, room - bare, count)))
            break
        if size > room:
            break
        kept.append(turn)
        room -= size
    return tuple(reversed(kept))


def _size(turns: Sequence[Turn], count: Count) -> int:
    return count(conversation(turns)) if turns else 0


def _warnings(passages: int, of: int, turns: int, window: int, *, cut: bool) -> tuple[str, ...]:
    warnings = []
    what = ""
    if passages:
        which = "the lowest-ranked passage was" if passages == 1 else f"the {passages} lowest-ranked passages were"
        what = f"Of {of} passages {which} left out of the prompt"
        what += ", and the best one was cut at the end of a sentence" if cut else ""
    elif cut:
        what = "The passage is too long for the prompt and was cut at the end of a sentence"
    if what:
        warnings.append(f"{what}. The model reads {window} tokens: raise RAG_NUM_CTX, or ask for fewer with -k.")
    if turns:
        which = "The oldest turn" if turns == 1 else f"The {turns} oldest turns"
        warnings.append(f"{which} of the conversation did not fit into the prompt.")
    return tuple(warnings)
