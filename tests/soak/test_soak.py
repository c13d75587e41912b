"""A short form of the campaign."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

SEED = "20261126"


@pytest.mark.kill
@pytest.mark.skipif(sys.platform != "linux", reason="the campaign needs Linux")
@pytest.mark.parametrize(
    ("packages", "rounds"),
    [
        ((), ("--kind", "embedded", "--rounds", "5", "--seed", "3")),
        (("lancedb",), ("--only", "37", "--seed", SEED)),  # a file of passages that was cut, and yet committed
        (("moto",), ("--only", "452", "--seed", SEED)),  # a clock that was put back, and a cache past its bound
        ((), ("--only", "1255", "--seed", "71")),  # database and ledger are lost at once
        ((), ("--only", "525", "--seed", "20261127")),  # bytes that were removed come back in another paper's place
    ],
)
def test_rounds_break_nothing(tmp_path, model_cache, packages, rounds):
    for package in packages:
        pytest.importorskip(package)
    done = subprocess.run(
        [sys.executable, "-m", "tests.soak", *rounds, "--folder", str(tmp_path)],
        cwd=ROOT,
        env={**os.environ, "RAG_CACHE_FOLDER": str(model_cache)},
        capture_output=True,
        text=True,
    )
    shutil.rmtree(tmp_path / "pdfs", ignore_errors=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "rounds of seed" in done.stdout
    assert ", 0 broken" in done.stdout
