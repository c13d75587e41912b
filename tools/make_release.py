"""Makes a release of the last commit in dist/: wheel, sdist, notes, man page, SBOM. `make release` calls it.

The wheel and the sdist are built twice, each time from a clone of its own, and their bytes have to be equal. Then they
are checked, and the wheel is installed into an environment of its own, where it reads the sample paper and answers.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
TOOLS = Path(sys.executable).parent
QUESTION = "Why does keyword search receive a weight of 0.3?"
CITATION = re.compile(r"\(ragscience\.pdf, p\.[1-9]\d*\)")


def printed(*command: str | Path, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    """What a command prints on stdout; one that fails ends the release with its exit code and its output."""
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def notes(changelog: str, version: str, day: str) -> str:
    """The version's section of the changelog; while it has none, the section Unreleased under its number and day."""
    sections = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL))
    title = next((name for name in sections if name.split()[0] == version), "Unreleased")
    head = title if title != "Unreleased" else f"{version} - {day}"
    return f"# RAG Science {head}\n\n{sections[title].strip()}\n"


def without_times(sdist: Path, when: int) -> None:
    """Write the tar file again, in the order of names, with `when` (seconds since 1970) as each time and no owner.

    setuptools gives the wheel the time of SOURCE_DATE_EPOCH, and the sdist that of the files.
    """
    with tarfile.open(sdist) as old:
        files = [(each, old.extractfile(each)) for each in old]
        data = {each.name: file.read() if file else b"" for each, file in files}
    with gzip.GzipFile(sdist, "wb", mtime=when) as zipped, tarfile.open(fileobj=zipped, mode="w") as new:
        for each, _ in sorted(files, key=lambda pair: pair[0].name):
            each.mtime, each.uid, each.gid, each.uname, each.gname, each.pax_headers = when, 0, 0, "", "", {}
            new.addfile(each, io.BytesIO(data[each.name]))


def build(folder: Path, when: int) -> list[Path]:
    """Wheel and sdist of the last commit, built from a clone in the folder."""
    printed("git", "clone", "-q", ROOT, folder / "clone")
    printed(TOOLS / "python", "-m", "build", "--no-isolation", "-o", folder / "dist", folder / "clone")
    wheel, sdist = sorted((folder / "dist").iterdir())
    without_times(sdist, when)
    return [wheel, sdist]


def demo(commands: Path, home: Path) -> None:
    """Read the sample paper and ask about it, in a folder with nothing else. Ends the release without a citation."""
    (home / "papers").mkdir(parents=True)
    shutil.copy(ROOT / "papers" / "sample" / "ragscience.pdf", home / "papers")
    env = {"PATH": f"{commands}:/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}
    shown = [printed(commands / "ragscience", word, cwd=home, env=env) for word in ("ingest", QUESTION, "list")]
    if not CITATION.search(shown[1]) or "ragscience.pdf" not in shown[2]:
        sys.exit(f"The answer cites no page of the sample paper, or the list lacks it:\n{shown}")


def sbom(python: Path, wheel: str) -> str:
    """What is installed, in CycloneDX's form: the wheel's package as what it is about, all others as its parts."""
    bom = json.loads(printed(TOOLS / "cyclonedx-py", "environment", "--output-reproducible", "--of", "JSON", python))
    own = next(each for each in bom["components"] if each["name"] == "ragscience")
    own["externalReferences"][0]["url"] = wheel  # it was installed from a temporary folder; the digest is the wheel's
    bom["components"].remove(own)
    bom["metadata"]["component"] = own | {"type": "application"}
    return json.dumps(bom, indent=1) + "\n"


def main() -> None:
    """Make the release. The first step that fails ends it, and dist/ stays as it was."""
    os.umask(0o022)
    os.environ["SOURCE_DATE_EPOCH"] = printed("git", "log", "-1", "--format=%ct").strip()
    when = int(os.environ["SOURCE_DATE_EPOCH"])
    day = datetime.fromtimestamp(when, UTC).date().isoformat()
    began = time.monotonic()

    def done(what: str, *sized: Path) -> None:
        files = [[path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()] for path in sized]
        sizes = [f", {sum(each.lstat().st_size for each in inside) / 1e6:.1f} MB" for inside in files]
        print(f"{time.monotonic() - began:5.0f} s  {what}{''.join(sizes)}", flush=True)

    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        first, again = (build(folder / name, when) for name in ("first", "again"))
        if [each.read_bytes() for each in first] != [each.read_bytes() for each in again]:
            sys.exit("Two builds of one commit differ.")
        (wheel, sdist), clone, made = first, folder / "first" / "clone", folder / "made"
        done("built twice, with equal bytes: wheel and sdist", wheel, sdist)
        printed(TOOLS / "twine", "check", "--strict", wheel, sdist)
        with ZipFile(wheel) as built:  # setup.py adds the model, which is checked by its digest
            built.extractall(clone, [name for name in built.namelist() if "/minilm_files/" in name])
        # W002, the same file twice: the licences of what the page brings also stand where the metadata has licences.
        rules = ("--ignore", "W002", "--package-omit", "__pycache__", "--package", clone / "ragscience")
        printed(TOOLS / "check-wheel-contents", *rules, wheel)
        done("checked: twine's rules; the wheel has all files of the package and no others")
        python = folder / "environment" / "bin" / "python"
        printed(sys.executable, "-m", "venv", "--without-pip", folder / "environment")
        printed(sys.executable, "-m", "pip", "--python", python, "install", "-q", wheel)
        done("installed the wheel and what it needs", folder / "environment")
        demo(python.parent, folder / "home")
        done("read the sample paper, and answered with a page of it")
        made.mkdir()
        changes = (clone / "CHANGELOG.md").read_text("utf-8")
        (made / "NOTES.md").write_text(notes(changes, wheel.name.split("-")[1], day), "utf-8")
        page = printed(python, clone / "tools" / "make_man_page.py", day)
        (made / "ragscience.1").write_text(page, "utf-8")
        (made / "sbom.json").write_text(sbom(python, wheel.name), "utf-8")
        for each in first:
            shutil.copy(each, made)
        shutil.rmtree(DIST, ignore_errors=True)
        shutil.move(made, DIST)
    done(f"wrote dist/: {', '.join(sorted(each.name for each in DIST.iterdir()))}", DIST)


if __name__ == "__main__":
    main()
