"""The library on disk: SQLite is the truth; the dense and the keyword index are caches of it."""

from ragscience.store.langchain_store import as_vector_store
from ragscience.store.layout import Home
from ragscience.store.library import Library
from ragscience.store.vectors import text_hash

__all__ = ["Home", "Library", "as_vector_store", "text_hash"]
