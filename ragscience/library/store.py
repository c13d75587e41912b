"""The library on disk: SQLite is the source of truth; the dense index is a cache of it."""

from ragscience.library.home import Home
from ragscience.library.index_config import DenseIndexInfo, DenseSizes
from ragscience.library.library import Library
from ragscience.library.paper_contents import NewPaper
from ragscience.library.sources_table import merged
from ragscience.library.store_protocol import About, Store, known_files, require_identity
from ragscience.library.term_counts import keyword_scores, term_counts
from ragscience.library.vectors import text_hash

__all__ = [
    "About", "DenseIndexInfo", "DenseSizes", "Home", "Library", "NewPaper", "Store",
    "keyword_scores", "known_files", "merged", "require_identity", "term_counts", "text_hash",
]  # fmt: skip
