"""The settings of RAG Science: ragscience/settings.py has each with its default, unit, bounds and reason."""

from ragscience.settings import Settings, load_settings

__all__ = ["Settings", "load_settings"]
