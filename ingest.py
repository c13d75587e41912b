"""PDFs in: `python ingest.py` reads what is in papers/ and updates the library."""

if __name__ == "__main__":
    import sys

    from ragscience.cli.status_line import start

    start(sys.argv[1:])

    from pathlib import Path

    from ragscience.cli.ingest_app import app
    from ragscience.cli.running import run_app

    run_app(app, home=Path(__file__).resolve().parent)
