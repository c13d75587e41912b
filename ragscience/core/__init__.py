"""What every package knows: records, settings, errors, text. Here: the version, and where the code is."""

from pathlib import Path

__all__ = ["LICENCE", "PACKAGE_ROOT", "__version__"]

__version__ = "0.1.0"
"""pyproject.toml takes the package's version from here."""

LICENCE = "AGPL-3.0-or-later"
"""In SPDX's identifiers; the text is in LICENSE."""

PACKAGE_ROOT = Path(__file__).parents[2]
"""The folder that has the package; a child process looks for it there."""
