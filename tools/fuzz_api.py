"""`python tools/fuzz_api.py HOME [--examples N] [--seed S]`: sends made-up requests to a server over a copy of HOME.

They are made by schemathesis from the server's OpenAPI document: N to each operation, and some at its limits; half of
their ids and questions are the library's own. First those that change nothing, then builds of the graph and removals.
The exit code is 1 where a reply was a 500, or not as the document says.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.serving.api_fuzzing import WRITES, fuzz  # noqa: E402

RUNS = {
    "reads and uploads": WRITES,
    "builds of the graph": ("--include-name=POST /api/v1/graph",),
    "removals": ("--include-method=DELETE",),
}
QUESTIONS = ("How many candidates does the first pass take?", "Which papers use self-attention?", "attention")


def known_values(client: httpx.Client, token: str) -> dict[str, list]:
    """Of the parameters of the document: values that the library has."""
    job = client.post("/api/v1/graph", json={}).json()
    while job["state"] in ("waiting", "running"):
        time.sleep(0.2)
        job = client.get(f"/api/v1/jobs/{job['job_id']}").json()
    md5 = [paper["md5"] for paper in client.get("/api/v1/papers").json()["papers"]]
    answers = [client.post("/api/v1/ask", json={"question": text}).json() for text in QUESTIONS]
    models = [each["id"] for each in client.get("/v1/models").json()["data"]]
    return {
        "path.md5": md5,
        "query.md5": md5,
        "path.number": [1, 2, 3],
        "path.chunk_id": [1, 2, 3],
        "path.job_id": [job["job_id"]],
        "path.answer_id": [each["answer_id"] for each in answers],
        "path.name": models,
        "body.question": list(QUESTIONS),
        "body.input": list(QUESTIONS),
        "body.quote": ["attention", "the"],
        "body.conversation": [each["conversation"] for each in answers],
        "body.model": models,
        "body.messages[*].content": list(QUESTIONS),
        "body.messages[*].role": ["user"],
        "body.action": ["chat", "summarize", "compare", "find_gaps"],
        "body.query": list(QUESTIONS),
        "body.selected_papers[*]": md5,
        "body.topic": ["attention"],
        "body.source": ["library"],
        "body.token": [token],
        "body.files[*]": ["%PDF-1.7 no more than its mark"],
    }


def main() -> int:
    """Serve, send, report."""
    parser = argparse.ArgumentParser(description="Sends made-up requests to a server over a copy of a home.")
    parser.add_argument("home", type=Path, help="a folder with papers/ and vectorstore/")
    parser.add_argument("--examples", type=int, default=100, help="requests to each operation")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    passed = True
    with tempfile.TemporaryDirectory() as folder:
        home, log = Path(folder) / "home", Path(folder) / "server.log"
        shutil.copytree(options.home, home)
        query = [sys.executable, str(ROOT / "query.py")]
        added = [*query, "serve", "token", "add", "fuzzer", "--role", "writer", "--home", str(home)]
        token = subprocess.run(added, check=True, capture_output=True, text=True).stdout.splitlines()[0].strip()
        command = [*query, "serve", "--port", "0", "--offline", "--home", str(home)]
        with log.open("w") as written, subprocess.Popen(command, stderr=written) as server:
            try:
                while not (line := re.search(r"^Serving (\S+)/ ", log.read_text(), re.MULTILINE)):
                    time.sleep(0.2)
                    if server.poll() is not None:
                        raise SystemExit(log.read_text())
                headers = {"Authorization": f"Bearer {token}"}
                with httpx.Client(base_url=line[1], headers=headers, timeout=600) as client:
                    known = known_values(client, token)
                    for name, more in RUNS.items():
                        began = time.monotonic()
                        found = fuzz(
                            line[1], Path(folder), examples=options.examples, seed=options.seed, known=known,
                            more=(*more, f"--header=Authorization: Bearer {token}"),
                        )  # fmt: skip
                        passed = passed and found.passed
                        took = time.monotonic() - began
                        print(f"{name}: seed {options.seed}, {found.requests} requests, {took:.0f} s")
                        print("passed" if found.passed else found.report, flush=True)
            finally:
                server.terminate()
        if not passed:
            print(log.read_text()[-20_000:])
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
