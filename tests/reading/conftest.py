"""Readers as they are started outside the tests: how they start, end and are killed is what is tested here."""

import subprocess

import pytest

from ragscience.reading import reader_process


@pytest.fixture(autouse=True)
def cold_readers(monkeypatch):
    monkeypatch.setattr(reader_process, "subprocess", subprocess)
