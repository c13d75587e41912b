"""What the help of each command shows beside its options: the order of commands, ways to call, two examples each.

Each example runs as it is written, over a library with the sample paper; a test parses them all.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

__all__ = ["EXAMPLES", "examples_of", "script_with", "sections_of", "usage_of"]

USAGE = {
    "query.py": (
        'python query.py "question"          answer it from your papers',
        "python query.py                     open a chat",
        "python query.py COMMAND [OPTIONS]   see below",
    ),
    "ingest.py": (
        "python ingest.py                    read new and changed PDFs in papers/",
        "python ingest.py FILE...            read these files and folders",
        "python ingest.py COMMAND [OPTIONS]  see below",
    ),
    "ragscience": (
        'ragscience "question"          answer it from your papers',
        "ragscience                     open a chat",
        "ragscience COMMAND [OPTIONS]   see below",
    ),
}
SECTIONS: dict[str, tuple[str, ...]] = {
    "Papers": ("ingest", "init", "add", "fetch", "list", "show", "remove", "sync", "watch", "duplicates"),
    "Questions": ("ask", "search", "chat", "open"),
    "Connections": ("graph", "path", "related", "map"),
    "Earlier answers": ("history", "audit", "bib"),
    "Other programs": ("serve", "mcp"),
    "Setup": ("models", "profiles", "config", "completion"),
    "Checks": ("doctor", "rebuild", "copy", "eval"),
}
EXAMPLES: dict[str, tuple[str, str]] = {
    "query.py": (
        'python query.py "How are the two lists of passages joined?"',
        "python query.py search rank fusion -k 3",
    ),
    "query.py ask": (
        'python query.py ask "How long is a chunk?" --paper ragscience',
        "python query.py ask how long is a chunk --brief",
    ),
    "query.py search": (
        'python query.py search "reciprocal rank fusion" -k 3',
        "python query.py search overlap --kind table",
    ),
    "query.py chat": ("python query.py chat --chat thesis", "python query.py chat -c --paper ragscience"),
    "query.py open": ("python query.py open", "python query.py open 2"),
    "query.py bib": ("python query.py bib -o papers.bib", "python query.py bib --cited last"),
    "query.py audit": ("python query.py audit -n 5", "python query.py audit --json"),
    "query.py eval": (
        "python query.py eval --make 20 --out questions.jsonl",
        "python query.py eval questions.jsonl --against deep",
    ),
    "query.py serve": ("python query.py serve", "python query.py serve --port 9000 --home ~/thesis"),
    "query.py serve token": ("python query.py serve token", "python query.py serve token add ben --role editor"),
    "query.py serve token list": (
        "python query.py serve token list",
        "python query.py serve token list --home ~/thesis",
    ),
    "query.py serve token add": (
        "python query.py serve token add ana",
        "python query.py serve token add olga --role owner",
    ),
    "query.py serve token revoke": (
        "python query.py serve token revoke ana",
        "python query.py serve token revoke ana --home ~/thesis",
    ),
    "query.py mcp": ("python query.py mcp", "python query.py mcp --home ~/thesis"),
    "query.py profiles": ("python query.py profiles", "python query.py profiles --json"),
    "query.py graph": ("python query.py graph BM25", 'python query.py graph "deep learning" --together'),
    "query.py path": (
        'python query.py path "deep learning" "embedding model" --together',
        'python query.py path "deep learning" "embedding model" --together --json',
    ),
    "query.py related": ("python query.py related ragscience.pdf", "python query.py related ragscience.pdf -k 3"),
    "query.py map": ("python query.py map papers.html", "python query.py map papers.html --force"),
    "query.py models": ("python query.py models", "python query.py models pull"),
    "query.py models list": ("python query.py models list", "python query.py models list --json"),
    "query.py models pull": ("python query.py models pull", "python query.py models pull --quiet"),
    "query.py history": ("python query.py history", "python query.py history search overlap"),
    "query.py history list": ("python query.py history list -n 5", "python query.py history list --json"),
    "query.py history show": ("python query.py history show", "python query.py history show thesis"),
    "query.py history search": (
        "python query.py history search overlap",
        'python query.py history search "chunk overlap" -n 5',
    ),
    "query.py history export": (
        "python query.py history export -o last.md",
        "python query.py history export thesis --bib",
    ),
    "query.py history rename": (
        "python query.py history rename 3 chunks",
        "python query.py history rename thesis chapter-2",
    ),
    "query.py history delete": (
        "python query.py history delete thesis",
        "python query.py history delete --all --yes",
    ),
    "query.py config": ("python query.py config", "python query.py config set top_k 6"),
    "query.py config show": ("python query.py config show", "python query.py config show top_k"),
    "query.py config set": (
        "python query.py config set top_k 6",
        "python query.py config set llm qwen3:8b temperature 0",
    ),
    "query.py config unset": ("python query.py config unset top_k", "python query.py config unset llm temperature"),
    "query.py config allow": ("python query.py config allow", "python query.py config allow --home ~/thesis"),
    "query.py completion": (
        "python query.py completion bash",
        "python query.py completion zsh --name rag",
    ),
    "ingest.py": ("python ingest.py", "python ingest.py papers/sample/ragscience.pdf"),
    "ingest.py add": ("python ingest.py add papers/sample", "python ingest.py add ~/Downloads --dedupe keep-newest"),
    "ingest.py init": ("python ingest.py init", "python ingest.py init --home ~/thesis"),
    "ingest.py fetch": (
        "python ingest.py fetch 1706.03762",
        'python ingest.py fetch "graph learning" -n 3 --from 2023',
    ),
    "ingest.py list": ("python ingest.py list", "python ingest.py list --json"),
    "ingest.py show": ("python ingest.py show ragscience.pdf", "python ingest.py show ragscience.pdf --page 3"),
    "ingest.py duplicates": ("python ingest.py duplicates", "python ingest.py duplicates --dedupe keep-newest"),
    "ingest.py remove": ("python ingest.py remove ragscience.pdf", "python ingest.py remove ragscience.pdf --forget"),
    "ingest.py sync": ("python ingest.py sync --dry-run", "python ingest.py sync"),
    "ingest.py watch": ("python ingest.py watch", "python ingest.py watch ~/Downloads --json"),
    "ingest.py rebuild": ("python ingest.py rebuild", "python ingest.py rebuild --indexes"),
    "ingest.py copy": (
        "python ingest.py copy --to lance:///data/library",
        "python ingest.py copy --from s3://lab/library --to vectorstore",
    ),
    "ingest.py graph": ("python ingest.py graph", "python ingest.py graph --graphml papers.graphml"),
    "ingest.py doctor": ("python ingest.py doctor", "python ingest.py doctor --fast"),
}


def usage_of(path: str) -> tuple[str, ...]:
    """How a script can be called (`path` is `python query.py`); empty for a command of one."""
    return USAGE.get(path.removeprefix("python "), ())


def script_with(name: str) -> str:
    """The script that has a command of this name; empty where none has."""
    return next((script for script in ("query.py", "ingest.py") if f"{script} {name}" in EXAMPLES), "")


def examples_of(path: str) -> tuple[str, ...]:
    """The examples of the command that is called so (`python query.py ask`, `ragscience list`)."""
    words = path.removeprefix("python ").replace("config.py", "query.py config", 1)
    if words.startswith("ragscience ingest"):
        words = words.replace("ragscience ingest", "ingest.py", 1)
    of_query = words.replace("ragscience", "query.py", 1)
    return EXAMPLES.get(of_query, ()) or EXAMPLES.get(words.replace("ragscience", "ingest.py", 1), ())


def sections_of(path: str, names: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """Headings, with those of the commands of `path` that stand under each, in an order of use."""
    if not usage_of(path):
        if names:
            yield "Commands", list(names)
        return
    for heading, order in SECTIONS.items():
        if here := [name for name in order if name in names]:
            yield heading, here
