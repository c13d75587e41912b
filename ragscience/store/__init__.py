"""The library on disk: SQLite is the source of truth; the dense and the keyword index are caches of it."""

from ragscience.store.home import Home
from ragscience.store.index_config import DenseIndexInfo, DenseSizes
from ragscience.store.library import Library
from ragscience.store.library_writes import NewPaper
from ragscience.store.sources_table import merged
from ragscience.store.store_protocol import Store
from ragscience.store.vectors import text_hash

__all__ = ["DenseIndexInfo", "DenseSizes", "Home", "Library", "NewPaper", "Store", "merged", "text_hash"]
