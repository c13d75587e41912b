"""`python tools/fuzz_api.py HOME [--examples N] [--seed S]`: sends made-up requests to a server over a copy of HOME.

They are made by schemathesis from the server's OpenAPI document: N to each operation, and some at its limits; half of
their ids and questions are the library's own. First those that change nothing, then builds of the graph and removals.
Then, for each route, how many requests the server counted, by status. The exit code is 1 where a reply was a 500, or
not as the document says, or where a route of the document was never answered with 2xx.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from urllib.parse import quote

import httpx
from prometheus_client.parser import text_string_to_metric_families

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.serving.api_fuzzing import DOCUMENT, WRITES, fuzz  # noqa: E402

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
    names = [each["name"] for each in client.get("/api/v1/graph/concepts?limit=10").json()["concepts"]]
    relation = client.get(f"/api/v1/graph/concepts/{quote(names[0])}").json()["relations"][0]
    models = [each["id"] for each in client.get("/v1/models").json()["data"]]
    return {
        "path.md5": md5,
        "query.md5": md5,
        "path.number": [1, 2, 3],
        "path.chunk_id": [1, 2, 3],
        "path.job_id": [job["job_id"]],
        "path.answer_id": [each["answer_id"] for each in answers],
        "path.name": [*names[:3], *models],
        "query.from": [*names[:3], relation["source"]],
        "query.to": [*names[:3], relation["target"]],
        "query.q": names,
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


def counted(client: httpx.Client) -> dict[str, Counter]:
    """By method and template of a route, how many replies had each status."""
    found: dict[str, Counter] = defaultdict(Counter)
    for family in text_string_to_metric_families(client.get("/metrics").text):
        for sample in family.samples:
            if sample.name == "ragscience_http_requests_total":
                route = f"{sample.labels['method']} {re.sub(':path', '', sample.labels['route'])}"
                found[route][sample.labels["status"]] += int(sample.value)
    return found


def report(client: httpx.Client, before: dict[str, Counter]) -> bool:
    """Print the table. Whether no reply was a 500, and each operation of the document was answered with 2xx."""
    paths = client.get(DOCUMENT).json()["paths"]
    operations = [f"{method.upper()} {path}" for path, methods in paths.items() for method in methods]
    after = counted(client)
    made = {route: after[route] - before.get(route, Counter()) for route in after}
    print("| route | requests | 2xx | by status |\n| --- | --- | --- | --- |")
    for route in operations:
        statuses = made.get(route, Counter())
        good = sum(count for status, count in statuses.items() if status.startswith("2"))
        told = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
        print(f"| {route} | {statuses.total()} | {good} | {told} |")
    others = sum((statuses for route, statuses in made.items() if route not in operations), Counter())
    print(f"Other methods and paths: {dict(sorted(others.items()))}")
    total = sum((statuses for statuses in made.values()), Counter())
    never = [each for each in operations if not any(status.startswith("2") for status in made.get(each, ()))]
    print(f"{total.total()} requests to {len(operations)} operations of the document, {total['500']} replies with 500")
    print(f"never answered with 2xx: {', '.join(never) or 'none'}")
    return not total["500"] and not never


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
        added = [*query, "serve", "token", "add", "fuzzer", "--role", "owner", "--home", str(home)]
        token = subprocess.run(added, check=True, capture_output=True, text=True).stdout.splitlines()[0].strip()
        command = [*query, "serve", "--port", "0", "--offline", "--home", str(home)]
        unlimited = {"RAG_SERVE_REQUESTS_PER_MIN": "1000000", "RAG_SERVE_UPLOADS_WAITING": "10000"}
        with log.open("w") as written, subprocess.Popen(command, stderr=written, env=os.environ | unlimited) as server:
            try:
                while not (line := re.search(r"^Serving (\S+)/ ", log.read_text(), re.MULTILINE)):
                    time.sleep(0.2)
                    if server.poll() is not None:
                        raise SystemExit(log.read_text())
                headers = {"Authorization": f"Bearer {token}"}
                with httpx.Client(base_url=line[1], headers=headers, timeout=600) as client:
                    known, before = known_values(client, token), counted(client)
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
                    passed = report(client, before) and passed
            finally:
                server.terminate()
        if not passed:
            print(log.read_text()[-20_000:])
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
