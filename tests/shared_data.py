"""Where the public papers and broken files are that some tests read; they are no part of the repository."""

import os
from pathlib import Path

import pytest

SHARED_DATA = Path(os.environ.get("RAG_TEST_DATA") or Path(__file__).resolve().parents[2] / "shared" / "data")

needs_shared_data = pytest.mark.skipif(not SHARED_DATA.is_dir(), reason=f"{SHARED_DATA} is not there (RAG_TEST_DATA)")
