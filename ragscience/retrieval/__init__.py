"""Search: dense and keyword candidates, fused, filtered and reranked."""

from ragscience.retrieval.profiles import PROFILE_NAMES, profile_named
from ragscience.retrieval.searching import search

__all__ = ["PROFILE_NAMES", "profile_named", "search"]
