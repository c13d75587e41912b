"""Answers out: `python query.py "question"` answers once, `python query.py` alone is a chat."""

if __name__ == "__main__":
    import sys

    from ragscience.cli.status_line import start

    start(sys.argv[1:])

    from pathlib import Path

    from ragscience.cli.query_app import app
    from ragscience.cli.running import run_app

    run_app(app, home=Path(__file__).resolve().parent)
