"""The settings: `python config.py` shows each with its value and where it comes from, as `query.py config` does."""

if __name__ == "__main__":
    from ragscience.cli.interrupt import exit_at_interrupt

    exit_at_interrupt()

from pathlib import Path

from ragscience.core.settings import Settings, load_settings

__all__ = ["Settings", "load_settings"]

if __name__ == "__main__":
    from ragscience.cli.cli import run_app
    from ragscience.cli.config_commands import config_app

    run_app(config_app, default_home=Path(__file__).resolve().parent)
