"""The commands whose JSON is kept, and what of it may differ from run to run."""

import json
import re
from pathlib import Path

FOLDER = Path(__file__).parent
SAMPLE = Path(__file__).parents[2] / "papers" / "sample" / "ragscience.pdf"
QUESTIONS = b"""{"id": "q1", "question": "What does the ledger decide?", "papers": ["ragscience"]}
What did Napoleon eat at Elba?
{"id": "bad"}
"""
EVALUATED = b"""{"id": "e1", "question": "Which weight does dense search receive?", "type": "number", \
"must_contain": ["0.7"], "evidence": [{"file": "ragscience.pdf", "page": 3}]}
{"id": "e2", "question": "Who won the race at Elba?", "type": "none", "answerable": false}
not json
"""
DRAFT = "It answers with at most nine sentences (ragscience.pdf, p.4). Nothing is known of Elba (elba.pdf).\n"
ENVIRONMENT = {"RAG_OLLAMA_URL": "http://127.0.0.1:9", "HF_HUB_OFFLINE": "1"}
QUESTION = "How are the two lists of passages joined?"
RELATED = "How does a deep learning framework use an embedding model?"
PRINTED = {
    "list": ["ingest.py", "list"],
    "show": ["ingest.py", "show", "ragscience.pdf"],
    "show-page": ["ingest.py", "show", "ragscience.pdf", "--page", "6"],
    "duplicates": ["ingest.py", "duplicates"],
    "doctor": ["ingest.py", "doctor"],
    "search": ["query.py", "search", QUESTION, "-k", "2"],
    "search-graph": ["query.py", "search", RELATED, "-k", "2", "--graph"],
    "ask": ["query.py", "ask", QUESTION, "-k", "3"],
    "ask-routed": ["query.py", "ask", "How many papers are in my library?"],
    "ask-agent": ["query.py", "ask", "How are BM25 and cosines joined, and what is FAISS?", "-k", "2", "--agent"],
    "ask-from": ["query.py", "ask", "--from", "questions.txt", "-k", "2"],
    "history-list": ["query.py", "history", "list"],
    "history-show": ["query.py", "history", "show", "1"],
    "audit": ["query.py", "audit"],
    "audit-answer": ["query.py", "audit", "ANSWER"],
    "quote": ["query.py", "quote", "Both ways return the same answer, so that everything downstream"],
    "check": ["query.py", "check", "draft.md"],
    "graph": ["query.py", "graph", "deep learning framework", "--together"],
    "path": ["query.py", "path", "deep learning framework", "embedding model", "--together"],
    "related": ["query.py", "related", "ragscience.pdf"],
    "models": ["query.py", "models"],
    "profiles": ["query.py", "profiles"],
    "version": ["query.py", "--version"],
    "eval": ["query.py", "eval", "evaluated.jsonl", "-k", "2"],
    "eval-against": ["query.py", "eval", "evaluated.jsonl", "-k", "2", "--against", "agent"],
    "fetch-failed": ["ingest.py", "fetch", "http://127.0.0.1:9/a.pdf", "--dry-run"],
}
CHANGING = {
    "added_at", "answer_id", "at", "changed_at", "created_at", "digest", "generation", "settings", "modified",
    "started", "started_at", "seconds", "trace_id", "python", "version", "timings_ms", "program", "where",
}  # fmt: skip
"""Keys whose values are of one run or one machine."""
MESSAGES = {
    "message", "remedy", "fix", "why", "warnings", "warning", "summary", "notes", "differences", "about", "error",
    "reason",
}  # fmt: skip
"""Keys of sentences for people, whose words may change."""


def fill(commands):
    """Read the sample and a copy of other bytes, and make the graph of their entities."""
    content = SAMPLE.read_bytes()
    (commands.home / "papers" / "ragscience.pdf").write_bytes(content)
    (commands.home / "papers" / "copy.pdf").write_bytes(content + b"\n% a copy\n")
    (commands.home / "questions.txt").write_bytes(QUESTIONS)
    (commands.home / "draft.md").write_text(DRAFT, encoding="utf-8")
    (commands.home / "evaluated.jsonl").write_bytes(EVALUATED)
    for command in (["-q"], ["graph", "-q"]):
        ran = commands.ingest(*command)
        assert ran.code == 0, ran.err


def printed(commands):
    """(name, the JSON values that it prints) for each command, in an order in which they do not disturb each other."""
    for name, (script, *words) in PRINTED.items():
        if "ANSWER" in words:
            listed = json.loads(commands.query("audit", "--json").out)["answers"]
            first = next(row for row in listed if row["question"] == QUESTION)
            words = [first["answer_id"] if word == "ANSWER" else word for word in words]
        ran = commands.run(script, *words, "--json")
        assert ran.out, (name, ran.err)
        yield name, [without_run(json.loads(line), str(commands.home)) for line in ran.out.splitlines()]


def without_run(value, home, name=""):
    """The value without what is of one run: its times, ids and folders; numbers have six places."""
    if name in CHANGING and value is not None:
        return f"<{name}>"
    if name == "library" and isinstance(value, dict):
        value = value | {"id": "<id>"}
    if isinstance(value, dict):
        return {key: without_run(item, home, key) for key, item in value.items()}
    if isinstance(value, list):
        return [without_run(item, home, name) for item in value]
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, str):
        if name in MESSAGES:
            return "<text>" if value else ""
        return re.sub(r"\d+(\.\d+)? [KMG]i?B", "<size>", value.replace(home, "<home>"))
    return value


def kept(name):
    """What the file of that name has."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def keep(commands):
    """Write the files anew."""
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name, values in printed(commands):
        text = json.dumps(values, ensure_ascii=False, indent=1) + "\n"
        (FOLDER / f"{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    import os
    from tempfile import TemporaryDirectory

    from tests.conftest import Commands

    os.environ |= ENVIRONMENT
    with TemporaryDirectory() as folder:
        (Path(folder) / "papers").mkdir()
        fill(Commands(Path(folder)))
        keep(Commands(Path(folder)))
