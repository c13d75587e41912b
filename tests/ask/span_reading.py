"""The reader of spans itself, one for all tests of a process."""

import os
from functools import cache
from pathlib import Path

import pytest

from ragscience.models.minilm import SpanReader


@cache
def _reader():
    return SpanReader(cache_folder=Path(os.environ["RAG_CACHE_FOLDER"]), on_warning=pytest.fail)


def read(question, passages):
    """As SpanReader.read."""
    return _reader().read(question, passages)
