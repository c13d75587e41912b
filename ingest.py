"""PDFs in: `python ingest.py` reads what is in papers/ and updates the library."""

from pathlib import Path

from ragscience.terminal.cli import run_app
from ragscience.terminal.ingest_cli import app

if __name__ == "__main__":
    run_app(app, default_home=Path(__file__).resolve().parent)
