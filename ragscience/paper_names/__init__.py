"""The names that papers go by, and which papers a text names."""

from ragscience.paper_names.names import NamedPaper, PaperNames

__all__ = ["NamedPaper", "PaperNames"]
