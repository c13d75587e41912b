"""What the commands say on stderr, in one file; other tests look at exit codes, reasons and fixes.

`python -m tests.snapshots.messages` writes the file anew after a wanted change; `git diff` shows the words.
"""

import json
import shlex
import tempfile
from pathlib import Path

KEPT = Path(__file__).with_suffix(".json")
COMMANDS = (
    "ingest.py",
    "ingest.py nowhere.pdf",
    "ingest.py remove nowhere.pdf",
    "ingest.py show nowhere.pdf",
    "ingest.py show bees.pdf --page 9",
    "ingest.py rebuild --embeddings --indexes",
    "ingest.py fetch --dry-run",
    "ingest.py fetch 2101.00001 --offline",
    "query.py ask ''",
    "query.py ask",
    "query.py ask question --from -",
    "query.py ask --from nowhere.jsonl",
    "query.py search fog --paper wasps --reranker off",
    "query.py search fog --pages 9-3",
    "query.py search fog --kind rhyme",
    "query.py search fog --year 20x",
    "query.py search fog --profile fast",
    "query.py search fog -k 0",
    "query.py search fog --colour",
    "query.py open 1",
    "query.py bib nowhere.pdf",
    "query.py bib --cited nowhere",
    "query.py audit nowhere",
    "query.py history show nowhere",
    "query.py history delete nowhere",
    "query.py graph fog",
    "query.py path fog glaze",
    "query.py related wasps.pdf",
    "query.py map map.pdf",
    "query.py eval nowhere.jsonl",
    "query.py eval questions.jsonl --mode swarm",
)


def said(commands):
    """What each command says and how it ends, over a home with the three papers."""
    for command in COMMANDS:
        script, *words = shlex.split(command)
        ran = commands.run(script, *words)
        yield command, {"code": ran.code, "stderr": ran.err.replace(str(commands.home), "HOME").splitlines()}


def kept():
    return json.loads(KEPT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    from tests.commands.papers import fill
    from tests.conftest import NOBODY, Commands

    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        fill(home / "papers")
        commands = Commands(home)
        assert commands.ingest(RAG_EMBEDDER="embedded", RAG_OLLAMA_URL=NOBODY).code == 0
        now = dict(said(commands))
    KEPT.write_text(json.dumps(now, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
