"""`python -m tests.soak --rounds 2000 --seed 1`: the fault campaign; `--only 17` does one round of a seed again.

`--only 1-17 7-3` does round 17 of seed 1 and round 3 of seed 7.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.soak.rounds import Round

_KINDS = {"embedded": (11, ""), "lance": (4, "lancedb"), "bucket": (4, "moto"), "lance-s3": (1, "lancedb moto")}
"""The kinds of rounds: how many of twenty are of that kind, and the packages that they need."""
_INSIDE = "SOAK_IS_INSIDE"
_HERE = Path(__file__).parent


def main() -> int:
    """Run the campaign; 1 where something is broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--rounds", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="The number of the first round.")
    parser.add_argument("--only", nargs="+", default=(), help="Do these rounds alone: NUMBER or SEED-NUMBER.")
    parser.add_argument("--kind", choices=[*_KINDS, "all"], default="all", help="The kind of library.")
    parser.add_argument("--minutes", type=float, default=0.0, help="End after so long.")
    parser.add_argument("--pause", type=Path, help="Wait before a round while this file is there.")
    parser.add_argument("--folder", type=Path, help="Where broken homes are kept; a new folder by default.")
    options = parser.parse_args()
    folder = (options.folder or Path(tempfile.mkdtemp(prefix="soak-"))).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if _INSIDE not in os.environ:
        return _started_inside(folder)
    return _campaign(options, folder)


def _started_inside(folder: Path) -> int:
    """The same in a process whose calls on files can fail and, where that is permitted, with mounts of its own."""
    environment = {**os.environ, _INSIDE: "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    for name in list(environment):
        if name.startswith(("RAG_", "OTEL_", "OLLAMA_")) and name != "RAG_CACHE_FOLDER":
            del environment[name]
    shim = folder / "failing_files.so"
    with contextlib.suppress(OSError):
        built = subprocess.run(
            ["cc", "-shared", "-fPIC", "-O2", "-o", str(shim), str(_HERE / "failing_files.c"), "-ldl"],
            capture_output=True,
            text=True,
        )
        if built.returncode == 0:
            environment["LD_PRELOAD"] = str(shim)
    command = [sys.executable, "-m", "tests.soak", *sys.argv[1:]]
    if "--folder" not in sys.argv:
        command += ["--folder", str(folder)]
    for unshare in (["unshare", "-m"], ["unshare", "-rm"]):
        with contextlib.suppress(OSError):
            if subprocess.run([*unshare, "true"], capture_output=True).returncode == 0:
                command = [*unshare, *command]
                break
    return subprocess.run(command, env=environment, cwd=_HERE.parents[1]).returncode


def _classes(wanted: str) -> list[tuple[type[Round], int]]:
    """The kinds of rounds with their weights; one whose package is missing is left out, and that is said."""
    from importlib.util import find_spec

    from tests.soak.bucket_rounds import BucketRound
    from tests.soak.embedded_rounds import EmbeddedRound
    from tests.soak.lance_rounds import LanceRound
    from tests.soak.lance_s3_rounds import LanceS3Round

    found: list[tuple[type[Round], int]] = []
    for kind in (EmbeddedRound, LanceRound, BucketRound, LanceS3Round):
        weight, packages = _KINDS[kind.kind]
        if wanted not in ("all", kind.kind):
            continue
        if missing := [name for name in packages.split() if find_spec(name) is None]:
            print(f"left out, as {missing[0]} is not installed: rounds of the kind {kind.kind}", flush=True)
            continue
        found.append((kind, weight))
    if not found:
        sys.exit("no kind of round is possible here")
    return found


def _campaign(options: argparse.Namespace, folder: Path) -> int:
    from tests.soak.faults import ANYWHERE, OF_CALLS, OF_MOUNTS, mount_disk
    from tests.soak.preparing import prepared
    from tests.soak.processes import has_shim

    disk = folder / "disk"
    has_mounts = mount_disk(disk)
    kinds = [*ANYWHERE, *(OF_CALLS if has_shim() else ()), *(OF_MOUNTS if has_mounts else ())]
    for is_there, lost in ((has_shim(), OF_CALLS), (has_mounts, OF_MOUNTS)):
        if not is_there:
            print(f"left out, as this machine does not permit them: {', '.join(lost)}", flush=True)
    classes = _classes(options.kind)
    names = [one if "-" in one else f"{options.seed}-{one}" for one in options.only]
    names = names or [f"{options.seed}-{one}" for one in range(options.first, options.first + options.rounds)]
    # Each by itself, so that a round is the same with --kind and without.
    chosen = {name: random.Random(f"kind {name}").choices(*zip(*classes, strict=True))[0] for name in names}
    world = prepared(folder, disk, kinds, list(dict.fromkeys(chosen.values())))
    began, done, broken = time.monotonic(), 0, []
    for name, kind in chosen.items():
        if options.minutes and time.monotonic() - began > options.minutes * 60:
            break
        while options.pause and options.pause.exists():
            time.sleep(1)
        seed, _, number = name.partition("-")
        one, started = kind(world, int(seed), int(number)), time.monotonic()
        try:
            one.run()
        except Exception:  # a fault of the campaign itself: the next round goes on
            one.broken.append(traceback.format_exc())
        done += 1
        world.counts[f"rounds {kind.kind}"] += 1
        took = time.monotonic() - started
        verdict = "BROKEN" if one.broken else "ok"
        print(f"round {number} seed {seed} {verdict} {took:.2f} s: {'; '.join(one.told)}", flush=True)
        if one.broken:
            broken.append(name)
            print(*(f"    {line}" for what in one.broken for line in what.splitlines()), sep="\n", flush=True)
            kept = folder / "broken" / name
            shutil.rmtree(kept, ignore_errors=True)
            if len(broken) <= 40 and disk.exists():
                shutil.copytree(disk, kept, symlinks=True)
    print(json.dumps(dict(sorted(world.counts.items())), indent=1))
    print(f"{done} rounds, {len(broken)} broken: {broken}")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
