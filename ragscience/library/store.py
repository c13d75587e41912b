"""The library on disk: SQLite is the source of truth; the dense and the keyword index are caches of it."""

from ragscience.library.home import Home
from ragscience.library.index_config import DenseIndexInfo, DenseSizes
from ragscience.library.library import Library
from ragscience.library.library_writes import NewPaper
from ragscience.library.sources_table import merged
from ragscience.library.store_protocol import Store
from ragscience.library.vectors import text_hash

__all__ = ["DenseIndexInfo", "DenseSizes", "Home", "Library", "NewPaper", "Store", "merged", "text_hash"]
