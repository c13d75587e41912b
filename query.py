"""Answers out: `python query.py "question"` answers once, `python query.py` alone is a chat."""

if __name__ == "__main__":
    import sys

    from ragscience.terminal.interrupt import exit_at_interrupt
    from ragscience.terminal.status_line import STATUS

    exit_at_interrupt()
    STATUS.begin(sys.argv[1:])

    from pathlib import Path

    from ragscience.terminal.cli import run_app
    from ragscience.terminal.query_cli import app

    run_app(app, default_home=Path(__file__).resolve().parent)
