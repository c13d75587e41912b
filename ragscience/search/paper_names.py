"""The names that papers go by, and which papers a text names."""

from ragscience.search.names import NamedPaper, PaperNames
from ragscience.search.paper_name import PaperName

__all__ = ["NamedPaper", "PaperName", "PaperNames"]
