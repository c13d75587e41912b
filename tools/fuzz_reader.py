"""`python tools/fuzz_reader.py FOLDER [--count N] [--seed S] [--pages P]`: damages the PDFs of a folder and reads them.

Each file must end as a document or as a problem; none may crash its worker or keep it, and no worker may grow. What did
is left in `--out`, and the exit code is 1. See tests/reading/fuzzing.py for the kinds of damage.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.reading.fuzzing import mutants, read_all, small_originals

MEGABYTE = 1 << 20
ORIGINAL_MEGABYTES = 3
"""Larger PDFs are left out, and so are cut ones that stay larger: the time would go into copying."""
GROWTH_MEGABYTES = 150
"""A worker may be larger at the end than early on by so much."""


def main() -> int:
    """Damage, read, report; the exit code is 1 where something did not end well."""
    parser = argparse.ArgumentParser(description="Reads damaged PDFs with the real worker processes.")
    parser.add_argument("folder", type=Path, help="PDFs to damage, searched in its subfolders too")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", type=int, default=2, help="of each PDF, so that reading costs little")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--timeout-seconds", type=float, default=60)
    parser.add_argument("--memory-mb", type=int, default=2048)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "fuzz_reader")
    options = parser.parse_args()

    import pymupdf

    pymupdf.TOOLS.mupdf_display_errors(False)
    paths = [path for path in sorted(options.folder.rglob("*.pdf")) if _is_whole(path)]
    half = (len(paths) + 1) // 2
    originals = [
        *small_originals(options.out / "originals", paths[:half], options.pages, compress=False),
        *small_originals(options.out / "originals", paths[half:], options.pages, compress=True),
    ]
    originals = [path for path in originals if path.stat().st_size < ORIGINAL_MEGABYTES * MEGABYTE]
    print(f"{len(originals)} originals, {options.count} damaged files, seed {options.seed}")
    began = time.perf_counter()
    outcome = read_all(
        mutants(options.out / "damaged", originals, options.count, options.seed),
        options.workers,
        options.timeout_seconds,
        options.memory_mb * MEGABYTE,
    )
    seconds = time.perf_counter() - began
    early = max(outcome.resident_bytes[: max(1, options.count // 10)]) / MEGABYTE
    late = max(outcome.resident_bytes[-max(1, options.count // 10) :]) / MEGABYTE
    print(f"{outcome.documents} documents, {outcome.problems.total()} problems in {seconds:.0f} s")
    print("problems by reason: " + ", ".join(f"{reason} {times}" for reason, times in outcome.problems.most_common()))
    print(
        f"{len(outcome.workers)} workers; the largest held {early:.0f} MB in the first tenth, {late:.0f} MB in the last"
    )
    for path in outcome.crashed:
        print(f"ended its worker: {path}")
    return int(bool(outcome.crashed) or late > early + GROWTH_MEGABYTES)


def _is_whole(path: Path) -> bool:
    """Whether a PDF opens without a password and has pages."""
    import pymupdf

    try:
        with pymupdf.open(path) as document:
            return document.is_pdf and not document.needs_pass and len(document) > 0
    except RuntimeError:
        return False


if __name__ == "__main__":
    sys.exit(main())
