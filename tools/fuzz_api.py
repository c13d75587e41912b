"""`python tools/fuzz_api.py HOME [--examples N] [--seed S]`: sends made-up requests to a server over a copy of HOME.

They are made by schemathesis from the server's OpenAPI document: N to each operation, and some at its limits. First
those that change nothing, then removals and the graph. The exit code is 1 where a reply was a 500, or not as the
document says.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.serving.api_fuzzing import WRITES, fuzz  # noqa: E402

RUNS = (("what reads", f"--exclude-path-regex={WRITES}"), ("what writes", f"--include-path-regex={WRITES}"))


def main() -> int:
    """Serve, send, report."""
    parser = argparse.ArgumentParser(description="Sends made-up requests to a server over a copy of a home.")
    parser.add_argument("home", type=Path, help="a folder with papers/ and vectorstore/")
    parser.add_argument("--examples", type=int, default=200, help="requests to each operation")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    passed = True
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        shutil.copytree(options.home, home)
        command = [sys.executable, str(ROOT / "query.py"), "serve", "--port", "0", "--offline", "--home", str(home)]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
            try:
                address = next(line for line in server.stderr if line.startswith("Serving ")).split()[1].rstrip("/")
                for name, more in RUNS:
                    found = fuzz(address, Path(folder), examples=options.examples, seed=options.seed, more=(more,))
                    passed = passed and found.passed
                    print(f"{name}: seed {options.seed}, {found.requests} requests")
                    print("passed" if found.passed else found.report, flush=True)
            finally:
                server.terminate()
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
