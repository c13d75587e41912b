"""The paper in papers/sample/: ours, made by a script, and true to the settings it tells about."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "papers" / "sample" / "ragscience.pdf"


def test_drawing_it_again_gives_the_committed_bytes(tmp_path):
    command = [sys.executable, str(ROOT / "tools" / "make_sample.py"), str(tmp_path / "again.pdf")]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    assert (tmp_path / "again.pdf").read_bytes() == SAMPLE.read_bytes()
