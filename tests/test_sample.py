"""The paper in papers/sample/: ours, made by a script, and true to the settings it tells about."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "papers" / "sample" / "ragscience.pdf"


def draw(target):
    """The sample drawn anew by the script, in a process of its own."""
    command = [sys.executable, str(ROOT / "tools" / "make_sample.py"), str(target)]
    subprocess.run(command, check=True, capture_output=True, cwd=target.parent)
    return target.read_bytes()


def test_drawing_it_again_gives_the_committed_bytes(tmp_path):
    assert draw(tmp_path / "again.pdf") == SAMPLE.read_bytes()
