"""Answers out: `python query.py "question"` answers once, `python query.py` alone is a chat."""

if __name__ == "__main__":
    import sys

    from ragscience.cli.interrupt import exit_at_interrupt
    from ragscience.cli.status_line import STATUS

    exit_at_interrupt()
    STATUS.begin(sys.argv[1:])

    from pathlib import Path

    from ragscience.cli.cli import run_app
    from ragscience.cli.query_cli import app

    run_app(app, default_home=Path(__file__).resolve().parent)
