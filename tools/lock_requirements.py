"""`python tools/lock_requirements.py UV`: writes requirements*.lock, all that those files install, with hashes.

UV is the program uv. Versions that are locked stay; for newer ones delete the locks first. What is locked holds for
Python 3.11 and newer on any system. torch is left out, with the CUDA packages that one of its builds needs: each build
has files of its own, and requirements.txt names the version.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCKED = ("requirements-dev", "requirements", "requirements-serve")
"""What `make` installs; the first has all packages of the others, and decides their versions."""
LEFT_OUT = re.compile(r"(?:torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==")
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


def main() -> int:
    """Write the locks."""
    with tempfile.TemporaryDirectory() as folder:
        first: Path | None = None
        for name in LOCKED:
            entries = locked(sys.argv[1], name, first, Path(folder))
            first = first or Path(folder) / f"{name}.lock"
            kept = [entry for entry in _ENTRY.findall(entries) if not LEFT_OUT.match(entry)]
            (ROOT / f"{name}.lock").write_text(HEAD.format(name) + "".join(kept), encoding="utf-8")
            print(f"wrote {name}.lock: {len(kept)} packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
