"""The reader of spans itself, and what takes questions apart, one for all tests of a process."""

import os
from functools import cache
from pathlib import Path

import pytest

from ragscience.models.minilm import SpanReader
from ragscience.models.question_parts import QuestionParts


@cache
def _reader():
    return SpanReader(cache_folder=Path(os.environ["RAG_CACHE_FOLDER"]), on_warning=pytest.fail)


@cache
def _parts():
    return QuestionParts(cache_folder=Path(os.environ["RAG_CACHE_FOLDER"]), on_warning=pytest.fail)


def split(question, before):
    """As QuestionParts."""
    return _parts()(question, before)


def read(question, passages):
    """As SpanReader.read."""
    return _reader().read(question, passages)
