"""Search: dense and keyword candidates, fused, filtered and reranked."""

from ragscience.search.first_pass import ScoreSource
from ragscience.search.hybrid_search import SearchModels, search
from ragscience.search.named_papers import named_texts
from ragscience.search.profiles import PROFILE_NAMES, all_profiles, profile_named, read_by_llm, with_graph
from ragscience.search.token_matches import PassageMatches, TokenMatches, token_matches
from ragscience.search.word_presence import WordPresence

__all__ = [
    "PROFILE_NAMES",
    "PassageMatches",
    "ScoreSource",
    "SearchModels",
    "TokenMatches",
    "WordPresence",
    "all_profiles",
    "named_texts",
    "profile_named",
    "read_by_llm",
    "search",
    "token_matches",
    "with_graph",
]
