"""Citations for an answer that has none: each sentence that one page supports gets that page, marked as ours.

Small language models often cite nothing, whatever the prompt says. What is put in is checked as if the model had
written it; a sentence that no page supports stays as it is.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ragscience.ask.check import Checked, check
from ragscience.core.paper_records import page_label
from ragscience.core.records import Hit, Sentence

if TYPE_CHECKING:
    from ragscience.models.model_protocols import Reranker

__all__ = ["with_citations"]

_FEWEST_WORDS = 4
"""A shorter sentence is on a page too easily."""


def with_citations(checked: Checked, hits: Sequence[Hit], *, scorer: Reranker | None) -> Checked:
    """`checked`, an answer without a citation, with those that the passages support; each has `added` set."""
    likely = {
        number
        for number, each in enumerate(checked.sentences)
        if each.verdict == "weak" and each.evidence and len(each.text.split()) >= _FEWEST_WORDS
    }
    tried = check(_inserted(checked, likely), hits, scorer=scorer)
    if not likely or len(tried.sentences) != len(checked.sentences):
        return checked
    sure = {number for number in likely if tried.sentences[number].verdict == "supported"}
    done = check(_inserted(checked, sure), hits, scorer=scorer) if sure else checked
    if not sure or len(done.sentences) != len(checked.sentences):
        return checked
    return Checked(
        done.text,
        tuple(replace(citation, added=True) for citation in done.citations),
        tuple(_marked(each) if number in sure else each for number, each in enumerate(done.sentences)),
        checked.unknown,
        warnings=checked.warnings,
    )


def _inserted(checked: Checked, numbers: Collection[int]) -> str:
    """The text with the page of its evidence in each of these sentences, before the full stop."""
    text, at = checked.text, 0
    for number, sentence in enumerate(checked.sentences):
        start = text.find(sentence.text, at)
        if start < 0:
            continue
        at = start + len(sentence.text)
        if number in numbers and sentence.evidence is not None:
            said = sentence.text.rstrip(".!? \n")
            label = f" {page_label(sentence.evidence.file, sentence.evidence.page)}"
            text = text[: start + len(said)] + label + text[start + len(said) :]
            at += len(label)
    return text


def _marked(sentence: Sentence) -> Sentence:
    evidence = sentence.evidence
    return sentence if evidence is None else replace(sentence, evidence=replace(evidence, added=True))
