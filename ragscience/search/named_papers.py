"""Prefers the passages of the papers that a question names.

Such a paper is searched by itself, for the question without the name: all its passages are about the name, so that it
would only favour those which repeat it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragscience.core.records import Filters, Profile
from ragscience.library.store import Store, keyword_scores
from ragscience.models.model_protocols import QuestionVectors
from ragscience.search.first_pass import Scope, asked_terms, min_max, weighted_sum
from ragscience.search.names import MentionedPaper, PaperNames
from ragscience.search.reranking import late_scores

MOST_NAMED = 3
"""How many of the papers that a question names are searched by themselves: the ones named most surely."""
SHARE = 0.2
"""What is added to the score, 0 to 1, of a passage of a paper that is surely named."""
OWN = 0.5
"""The weight of the paper's own ranking of its passages against that of the whole search."""
FEWEST_TERMS = 2
"""Terms that a question must have left without the names, to be asked without them."""


@dataclass(frozen=True, slots=True)
class SearchedPaper:
    """A paper that a question names, and the question that it is searched for."""

    strength: float
    """How surely it is named, 0 to 1."""
    text: str
    """The question, without the paper's names where more is left."""
    allowed: NDArray[np.int64]
    """Ids of its passages that the filters allow, ascending."""
    vector: NDArray[np.float32] | None = None
    """The text's, where it was embedded."""
    asked: QuestionVectors | None = None


def named_papers(question: str, scope: Scope) -> list[SearchedPaper]:
    """The papers that a question names, at most MOST_NAMED.

    Their texts are not embedded yet.
    """
    from ragscience.library.dense_index import shared

    searched = []
    for names in asked_about(question, PaperNames.of(scope.library))[:MOST_NAMED]:
        allowed = scope.library.select(Filters(paper_ids=(names[0].paper_id,), kinds=("all",)))
        if allowed is not None and scope.allowed is not None:
            allowed = shared(allowed, scope.allowed)
        if allowed is not None and allowed.size:
            text = without(question, names)
            searched.append(SearchedPaper(max(name.strength for name in names), text, allowed))
    return searched


def asked_about(question: str, names: PaperNames) -> list[list[MentionedPaper]]:
    """The names of each paper that a question names, the surest first."""
    by_paper: dict[int, list[MentionedPaper]] = {}
    for name in names.in_text(question):
        by_paper.setdefault(name.paper_id, []).append(name)
    return sorted(by_paper.values(), key=lambda names: -max(name.strength for name in names))


def without(question: str, names: Sequence[MentionedPaper]) -> str:
    """The question without the names; with them where hardly anything else is asked for: "What is X?"."""
    whole = question
    for name in sorted(names, key=lambda name: -name.start):
        question = question[: name.start] + question[name.end :]
    return " ".join(question.split()) if len(set(asked_terms(question))) >= FEWEST_TERMS else whole


def own_candidates(paper: SearchedPaper, library: Store, profile: Profile) -> list[int]:
    """Ids of the paper's best passages by dense and by keyword search, as many as the profile's searches give."""
    found, _ = library.keywords.search(paper.text, profile.bm25_candidates, paper.allowed)
    ids: list[int] = found.tolist()
    if paper.vector is not None:
        nearest, _ = library.dense.search(paper.vector, profile.dense_candidates, paper.allowed)
        ids = [*nearest.tolist(), *ids]
    return list(dict.fromkeys(ids))


def preferred(
    scores: Mapping[int, float],
    papers: Sequence[SearchedPaper],
    library: Store,
    profile: Profile,
    maxsims: Callable[[QuestionVectors | None, Mapping[int, float]], Mapping[int, float]],
) -> dict[int, float]:
    """The scores, 0 to 1, of all candidates by id, in which those of the named papers' passages are higher.

    A paper's passages get the mean of their score and of that which they have among themselves for the question without
    the name, and SHARE on top; both in proportion to the strength of the name. `maxsims` as `maxsim_scores`, and
    nothing without a question that was read, or a model.
    """
    changed = dict(scores)
    for paper in papers:
        own = [chunk_id for chunk_id in paper.allowed.tolist() if chunk_id in scores]
        if not own:
            continue
        among = min_max(_among_themselves(paper, own, library, profile, maxsims))
        for chunk_id in own:
            wanted = (1 - OWN) * scores[chunk_id] + OWN * among[chunk_id] + SHARE
            changed[chunk_id] += paper.strength * (wanted - scores[chunk_id])
    return changed


def _among_themselves(
    paper: SearchedPaper,
    own: Sequence[int],
    library: Store,
    profile: Profile,
    maxsims: Callable[[QuestionVectors | None, Mapping[int, float]], Mapping[int, float]],
) -> dict[int, float]:
    by_bm25 = dict(zip(own, keyword_scores(library, paper.text, own).tolist(), strict=True))
    lists: list[tuple[float, Mapping[int, float]]] = [(profile.bm25_weight, by_bm25)]
    if paper.vector is not None:
        by_dense = dict(zip(own, library.dense.scores(paper.vector, own).tolist(), strict=True))
        lists.append((profile.dense_weight, by_dense))
    fused = weighted_sum(lists)
    late = maxsims(paper.asked, fused)
    return late_scores(late, fused) if late else fused
