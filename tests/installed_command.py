"""The command `ragscience` as an installation makes it, for tests that call it by its name."""

import os
import stat
import sys

from tests.conftest import ROOT


def installed_environment(folder):
    """An environment where `ragscience` is a command, and no setting is anybody's."""
    command = folder / "bin" / "ragscience"
    command.parent.mkdir(exist_ok=True)
    command.write_text(f"#!{sys.executable}\nfrom ragscience.__main__ import main\n\nmain()\n")
    command.chmod(stat.S_IRWXU)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAG_")}
    path = os.pathsep.join([str(command.parent), kept.get("PATH", "")])
    return kept | {"PATH": path, "PYTHONPATH": str(ROOT), "RAG_OLLAMA_URL": "http://127.0.0.1:9"}
