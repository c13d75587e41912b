"""A run of the agentic loop in the tests: the real nodes over a small library in memory."""

import time
from dataclasses import replace

from ragscience.agent.agent_state import AgentContext, Limits
from ragscience.agent.loop import answer_by_agent
from ragscience.ask.answer_context import AnswerContext, AnswerRequest, Circuit
from ragscience.ask.extractive import Readers
from ragscience.core.errors import ModelProblem
from ragscience.core.records import Found
from ragscience.core.tokenizing import tokenize
from ragscience.search.names import MentionedPaper
from tests.ask.passages import hit
from tests.ask.span_reading import split

LIMITS = Limits(iterations=3, seconds=60.0, enough=0.7, passages=12, tool_calls=3)
TEXTS = (
    ("attention.pdf", 7, "Training of the big Transformer took 3.5 days on 8 P100 GPUs."),
    ("attention.pdf", 5, "The inner feed-forward layer of the base Transformer has dimensionality 2048."),
    ("bert.pdf", 3, "The base BERT model has a hidden size of 768 and 110 million parameters."),
    ("bert.pdf", 13, "Pre-training of the large BERT took 4 days on 16 Cloud TPUs."),
    ("adam.pdf", 2, "Good default settings are a step size of 0.001 and decay rates of 0.9 and 0.999."),
)
PASSAGES = tuple(
    hit(text, file=file, page=page, rank=number) for number, (file, page, text) in enumerate(TEXTS, start=1)
)
ANSWERED = "How many days did training of the big Transformer take on P100 GPUs?"
TWO_PARTS = (
    "How many days did training of the big Transformer take, and how many days did pre-training of the large BERT take?"
)
UNANSWERED = "Which exploration bonus does the reinforcement learning agent of AlphaZero use?"


class Library:
    """Searches the passages above by the words that they share with a query, and remembers each search."""

    def __init__(self, passages=PASSAGES, *, best=2, fails=None):
        self.passages = passages
        self.best = best
        self.fails = fails or {}
        """Number of a search, from 1, to what it raises."""
        self.asked = []

    def search(self, query, papers):
        self.asked.append((query, papers))
        problem = self.fails.get(len(self.asked), self.fails.get("always"))
        if problem is not None:
            raise problem
        wanted = set(tokenize(query))
        allowed = [item for item in self.passages if not papers or item.chunk.file in papers]
        scored = [(len(wanted & set(tokenize(item.chunk.text))), item) for item in allowed]
        ranked = sorted((pair for pair in scored if pair[0]), key=lambda pair: (-pair[0], pair[1].rank))
        hits = [replace(item, rank=rank) for rank, (_, item) in enumerate(ranked[: self.best], start=1)]
        return Found(query, "rrf", tuple(hits))


class ScriptedReply:
    """A reply that was thought out before: pieces of text, or a failure in their place."""

    def __init__(self, said, tokens):
        self._said = said
        self.prompt_tokens, self.answer_tokens = tokens
        self.done_reason = "stop"

    def __iter__(self):
        if isinstance(self._said, ModelProblem):
            raise self._said
        yield from self._said


class ScriptedLLM:
    """A chat model that asks `say(step, messages)` for its words; `step` is "split", "grade" or "draft"."""

    name = "scripted:1b"
    num_predict = 256
    window = 8192

    class counter:  # noqa: N801  # an attribute of the protocol
        count = staticmethod(lambda text: len(text) // 4 + 1)

    def __init__(self, say, *, tokens=(100, 10)):
        self._say = say
        self._tokens = tokens
        self.calls = []

    def reply(self, messages, *, max_tokens, schema=None):
        step = "draft" if schema is None else "split" if "queries" in schema["properties"] else "grade"

        self.calls.append(step)
        words = self._say(step, messages)
        if isinstance(words, str):
            words = [words]
        return ScriptedReply(words, self._tokens)

    def was_cut(self, messages, prompt_tokens, answer_tokens):
        return False


class NamesOfTwo:
    """The names that two papers have in a text; the program's own are tested in tests/search."""

    OF = (("Transformer", 1, "attention.pdf"), ("BERT", 2, "bert.pdf"))

    def in_text(self, text):
        return [
            MentionedPaper(number, file, word, text.index(word), text.index(word) + len(word), 1.0)
            for word, number, file in self.OF
            if word in text
        ]


NAMES = NamesOfTwo()


def context_of(question, library, *, llm=None, limits=LIMITS, **how):
    given = {
        "readers": Readers(),
        "models": {"embedder": "words", "reranker": None, "llm": getattr(llm, "name", None)},
        "circuit": Circuit(failures=3, pause_seconds=60.0, clock=time.monotonic),
        "answer_seconds": 60.0,
        "answerable_threshold": 0.3,
        "cancelled": None,
        "names": NAMES,
        "split": split,
    }
    answering = AnswerContext(llm=llm, **{name: how.pop(name, value) for name, value in given.items()})
    request = AnswerRequest(question, how.pop("history", ()), how.pop("strict", False), how.pop("reading", ""))
    rest = {"steps_by_llm": True, "papers": (), "use_tools": None, "on_step": None, **how}
    return AgentContext(request, answering, search=library.search, limits=limits, **rest)


def run(question, library, **how):
    return answer_by_agent(context_of(question, library, **how))
