"""A short form of the campaign."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT


@pytest.mark.kill
@pytest.mark.skipif(sys.platform != "linux", reason="the campaign needs Linux")
def test_five_rounds_break_nothing(tmp_path, model_cache):
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.soak", "--kind", "embedded", "--rounds", "5", "--seed", "3"),
            *("--folder", str(tmp_path)),
        ],
        cwd=ROOT,
        env={**os.environ, "RAG_CACHE_FOLDER": str(model_cache)},
        capture_output=True,
        text=True,
    )
    shutil.rmtree(tmp_path / "pdfs", ignore_errors=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "5 rounds of seed 3, 0 broken" in done.stdout
