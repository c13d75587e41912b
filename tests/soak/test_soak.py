"""A short form of the campaign."""

import os
import shutil
import subprocess
import sys

import pytest

from tests.conftest import ROOT

ONCE_BROKEN = (
    "20261126-37",  # a file of passages that was cut, and yet committed
    "20261126-452",  # a clock that was put back, and a cache past its bound
    "71-1255",  # database and ledger are lost at once
    "20261127-525",  # bytes that were removed come back in another paper's place
)


@pytest.mark.kill
@pytest.mark.skipif(sys.platform != "linux", reason="the campaign needs Linux")
@pytest.mark.parametrize(
    ("packages", "rounds"),
    [((), ("--kind", "embedded", "--rounds", "5", "--seed", "3")), (("lancedb", "moto"), ("--only", *ONCE_BROKEN))],
    ids=["five", "once broken"],
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
    assert f"{5 if not packages else len(ONCE_BROKEN)} rounds, 0 broken" in done.stdout
