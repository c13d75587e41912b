"""The settings: `python config.py` shows each with its value and where it comes from, as `query.py config` does."""

if __name__ == "__main__":
    import sys

    from ragscience.cli.status_line import start

    start(sys.argv[1:])

from pathlib import Path

from ragscience.core.settings import Settings, load_settings

__all__ = ["Settings", "load_settings"]

if __name__ == "__main__":
    from ragscience.cli.config_commands import config_app
    from ragscience.cli.running import run_app

    run_app(config_app, home=Path(__file__).resolve().parent)
