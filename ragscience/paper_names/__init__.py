"""The names that papers go by, and which papers a text names."""

from ragscience.paper_names.names import NamedPaper, PaperNames
from ragscience.paper_names.paper_name import PaperName

__all__ = ["NamedPaper", "PaperName", "PaperNames"]
