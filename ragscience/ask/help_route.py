"""Questions of the program itself: how to do something with it, and the command that does it."""

from __future__ import annotations

import re

from ragscience.ask.help_topics import TOPICS, Topic
from ragscience.ask.question_words import bare
from ragscience.ask.route_records import RouteContext, Routed
from ragscience.core.records import Block

__all__ = ["answer", "topic_of"]

_ASKS = re.compile(
    r"(?:how (?:do|can|could|should|would|might) (?:i|we)|(?:can|could|may) (?:i|we|you|the program|ragscience)|"
    r"(?:do you|does (?:the program|ragscience))|is there (?:a|any) (?:way|command|option) (?:to|for|that)|"
    r"where (?:do|can) (?:i|we)|what(?: is|['’]s|) the (?:command|option|way) (?:to|for)|"
    r"(?:which|what) (?:commands?|options?)(?: (?:is|are|do|does|can))?(?: there| (?:i|you) (?:use|need|have))?|help|"
    r"what (?:can|could) (?:you|this program|the program|ragscience) do|(?P<impersonal>how (?:to|does one)|"
    r"is it possible to))\b[,:]?",
    re.IGNORECASE,
)
_OURS = frozenset(
    """
    paper papers pdf pdfs file files library bibtex zotero arxiv ollama ocr settings history duplicates
    """.split()  # noqa: SIM905  # a list of fifteen strings reads worse
)
"""A question that names nobody ("how to …") means the program where it has one of these."""
_WORD = re.compile(r"--?[a-z][a-z-]*|[^\W_]+(?:[-.'’][^\W_]+)*", re.IGNORECASE)
_COMMON = frozenset(
    """
    a an the my our your this that these those it its all any some one another new of in into to from for with and or on
    as at by i we you me us is are be do does can so them they there here out up off again please program tool
    ragscience rag science app application software command commands option options line terminal use using via way
    own more than just also work works help what which how make get have has need want will if when without
    """.split()  # noqa: SIM905  # a list of ninety strings reads worse
)


def topic_of(question: str) -> Topic | None:
    """The topic that a question asks for: it asks how, and each of its words is one of the topic's or says nothing.

    So "How do I add a layer to the model?" is none of them: no topic knows layers.
    """
    text = bare(question)
    asks = _ASKS.match(text)
    if asks is None:
        return None
    said = [word.casefold().replace("’", "'") for word in _WORD.findall(text[asks.end() :])]
    telling = {word for word in said if word not in _COMMON}
    if not telling:
        words = {word.casefold() for word in _WORD.findall(text)}
        is_whole = words & {"commands", "options"} or text.casefold().startswith(("what can ", "what could "))
        return TOPICS[0] if is_whole or text.casefold() in ("help", "help me") else None
    if asks["impersonal"] and not telling & _OURS:
        return None
    best = [topic for topic in TOPICS if telling <= topic.words and topic.is_named_by(set(said))]
    return best[0] if best else None


def answer(question: str, _: RouteContext) -> Routed | None:
    """The command for what the question wants to do; None for a question of the papers' subject."""
    topic = topic_of(question)
    if topic is None:
        return None
    blocks = [Block("text", topic.text), *(Block("item", f"`{command}`: {does}") for command, does in topic.commands)]
    return Routed("help", "Looked up how the program does it.", tuple(blocks))
