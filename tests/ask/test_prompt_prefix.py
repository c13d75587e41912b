"""What comes first in a prompt stays the same over a conversation, so that a server reuses what it has computed."""

from ragscience.ask.prompts import Prompts, conversation, fenced_text, passage_text
from ragscience.core.records import Turn
from tests.ask.passages import SAMPLING, TRAINING


def test_the_second_turn_begins_as_the_first_where_the_passages_are_the_same():
    prompts = Prompts()
    passages = "\n\n".join(passage_text(hit, fenced_text(hit.chunk)) for hit in (TRAINING, SAMPLING))
    first = prompts.request_text(passages, "", "How long did training take?")
    history = conversation([Turn("How long did training take?", "3.5 days (attention.pdf, p.7).")])
    second = prompts.request_text(passages, history, "On how many GPUs?")
    assert first.startswith(passages)
    assert second.startswith(passages)
    assert "{" not in prompts.rules_text()  # the system message, which goes first, is the same for every question
    assert second.index("<conversation>") < second.index("On how many GPUs?")
