"""RAG Science: answers from your own papers, with a page behind each fact."""

__all__ = ["__version__"]

__version__ = "0.1.0"
"""As in pyproject.toml."""
