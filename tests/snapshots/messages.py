"""What the commands say on stderr, in one file; other tests look at exit codes, reasons and fixes.

`python -m tests.snapshots.messages` writes the file anew after a wanted change; `git diff` shows the words.
"""

import json
import os
import shlex
import tempfile
from pathlib import Path

KEPT = Path(__file__).with_suffix(".json")
COMMANDS = (
    "ingest.py", "ingest.py nowhere.pdf", "ingest.py remove nowhere.pdf", "ingest.py remove '*'",
    "ingest.py show nowhere.pdf", "ingest.py show '*s*'", "ingest.py show bees.pdf --page 9",
    "ingest.py rebuild --embeddings --indexes", "ingest.py fetch --dry-run", "ingest.py fetch 2101.00001 --offline",
    "ingest.py graph --llm --local", "ingest.py graph --depth half", "ingest.py graph --depth full",
    "ingest.py graph --types person,c?ty", "ingest.py graph --llm", "ingest.py list --home nowhere",
    "ingest.py --home nowhere", "ingest.py doctor --home nowhere", "query.py bib --home nowhere",
    "query.py config set top_k 3 --home nowhere", "query.py ask ''", "query.py ask", "query.py ask question --from -",
    "query.py ask --from nowhere.jsonl", "query.py ask fog --paper wasps", "query.py ask fog --section nowhere",
    "query.py ask fog --author nobody", "query.py ask fog --year 1950", "query.py ask fog --pages 900",
    "query.py ask fog --year 20x", "query.py ask fog --highlight marked.txt", "query.py chat --kind rhyme",
    "query.py search fog --paper wasps --reranker off", "query.py search fog --section nowhere",
    "query.py search fog --section ' '", "query.py search fog --author nobody", "query.py search fog --year 1950",
    "query.py search fog --pages 900", "query.py search fog --pages 9-3", "query.py search fog --kind rhyme",
    "query.py search fog --year 20x", "query.py search fog --profile fast", "query.py search fog --reranker magic",
    "query.py search fog --reranker llm", "query.py search fog -k 0", "query.py search fog -k many",
    "query.py search fog --colour", "query.py search fog --papr bees", "query.py search fog --top-k 3",
    "query.py search fog --paper", "query.py --verison", "query.py serach fog", "query.py hsitory", "query.py profile",
    "query.py history lits", "query.py config sett top_k 3", "query.py config topk", "query.py config set top_k",
    "query.py config set top_k many", "query.py config set colour red", "query.py config set home /x",
    "query.py config set ollama_url http://me:pw@host", "query.py config set arxiv_url http://me:pw@host/api",
    "query.py config set ollama_url localhost", "query.py config set llm_url 'http://[::1/api'",
    "query.py config set arxiv_url http://server:99999/api", "query.py config set embed_url http://server:99999/api",
    "query.py config set dense_weight 0.5", "query.py config set chunk_overlap 1500",
    "query.py config set chunk_size 10", "query.py models of attention?", "query.py open 1",
    "query.py open 1 --answer nowhere", "query.py open problems", "query.py bib nowhere.pdf",
    "query.py bib --cited nowhere", "query.py bib bees.pdf --cited last", "query.py bib -o nowhere/a.bib",
    "query.py audit nowhere", "query.py history show nowhere", "query.py history search nowhere",
    "query.py history delete nowhere", "query.py graph fog", "query.py graph label smoothing",
    "query.py path fog glaze", "query.py related", "query.py related wasps.pdf", "query.py related '*'",
    "query.py map map.pdf", "query.py table nowhere.yaml", "query.py export",
    "query.py export --obsidian . --markdown .", "query.py export --obsidian nowhere/vault",
    "query.py serve token add ''", "query.py serve token add ../ben", "query.py serve token add Ana",
    "query.py serve token add 'a b'", "query.py serve token add aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "query.py serve token add ben --role king", "query.py serve token add -- -rf",
    "query.py serve token revoke ../ben", "query.py eval nowhere.jsonl", "query.py eval questions.jsonl --mode swarm",
)  # fmt: skip
"""Those that fail with 2 change nothing; none that fails prints anything on stdout."""


def said(commands):
    """What each command says and how it ends, over a home with the three papers."""
    for command in COMMANDS:
        script, *words = shlex.split(command)
        before = files(commands.home)
        ran = commands.run(script, *words)
        assert ran.code != 2 or files(commands.home) == before, command
        assert ran.code == 0 or not ran.out, (command, ran.out)
        yield command, {"code": ran.code, "stderr": ran.err.replace(str(commands.home), "HOME").splitlines()}


def files(home):
    """The home's files but those of vectorstore/, where a run may keep what it has told."""
    return sorted([*home.glob("*"), *home.glob("papers/**/*")])


def kept():
    return json.loads(KEPT.read_text(encoding="utf-8"))


if __name__ == "__main__":
    from tests.commands.papers import fill
    from tests.conftest import NOBODY, Commands

    os.environ |= {"RAG_OLLAMA_URL": NOBODY, "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        fill(home / "papers")
        commands = Commands(home)
        assert commands.ingest(RAG_EMBEDDER="embedded").code == 0
        now = dict(said(commands))
    KEPT.write_text(json.dumps(now, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
