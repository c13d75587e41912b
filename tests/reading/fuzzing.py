"""Damaged PDFs from whole ones, by a seed: bits, ends, cross references and objects that are not what they were."""

import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from ragscience.core.errors import FileProblem
from ragscience.core.records import Document
from ragscience.reading.worker_pool import ReadingPool
from tests.reading.processes import workers_of

_STARTXREF = re.compile(rb"startxref\s+(\d+)")
_NUMBER = re.compile(rb"(?<=[ /\[])\d{1,6}(?=[ \]/>\r\n])")
_OFFSET = re.compile(rb"\d{10} \d{5} [nf]")
_WORDS = re.compile(
    rb"endobj|endstream|stream|obj|xref|trailer|/Length|/Kids|/Filter|/FlateDecode|/Parent|/Contents|/W"
)


def flip_bits(data: bytes, chance: random.Random) -> bytes:
    """1 to 200 bits turned over, wherever they are."""
    damaged = bytearray(data)
    for _ in range(int(200 ** chance.random())):
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def cut_off(data: bytes, chance: random.Random) -> bytes:
    """The file up to somewhere, as a broken download leaves it."""
    return data[: chance.randrange(len(data))]


def cut_out(data: bytes, chance: random.Random) -> bytes:
    """Without a stretch in the middle, so that every later offset is wrong."""
    start = chance.randrange(len(data))
    return data[:start] + data[start + chance.randrange(1, 4096) :]


def put_in(data: bytes, chance: random.Random) -> bytes:
    """With a stretch of the file itself, or of noise, somewhere else in it."""
    start, to = chance.randrange(len(data)), chance.randrange(len(data))
    piece = data[start : start + chance.randrange(1, 4096)] if chance.random() < 0.5 else chance.randbytes(500)
    return data[:to] + piece + data[to:]


def break_references(data: bytes, chance: random.Random) -> bytes:
    """Offsets of the cross reference table and its place are wrong: small, huge, or each other's."""
    damaged = bytearray(data)
    for match in chance.sample(found, min(len(found), 20)) if (found := list(_OFFSET.finditer(data))) else []:
        damaged[match.start() : match.start() + 10] = b"%010d" % chance.choice([0, 1, len(data), 9999999999, 17])
    if starts := list(_STARTXREF.finditer(data)):
        match = chance.choice(starts)
        width = match.end(1) - match.start(1)
        damaged[match.start(1) : match.end(1)] = (b"%0*d" % (width, chance.randrange(2 * len(data))))[:width]
    return bytes(damaged)


def break_numbers(data: bytes, chance: random.Random) -> bytes:
    """Lengths, counts and references to objects are others, so that there are cycles and loose ends."""
    damaged = bytearray(data)
    found = list(_NUMBER.finditer(data))
    for match in chance.sample(found, min(len(found), 1 + chance.randrange(30))):
        width = match.end() - match.start()
        damaged[match.start() : match.end()] = b"%0*d" % (width, chance.randrange(10**width))
    return bytes(damaged)


def break_words(data: bytes, chance: random.Random) -> bytes:
    """Key words of the format misspelt."""
    damaged = bytearray(data)
    found = list(_WORDS.finditer(data))
    for match in chance.sample(found, min(len(found), 1 + chance.randrange(8))):
        damaged[chance.randrange(match.start(), match.end())] = chance.randrange(256)
    return bytes(damaged)


MUTATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    flip_bits,
    cut_off,
    cut_out,
    put_in,
    break_references,
    break_numbers,
    break_words,
)


def small_originals(folder: Path, paths: Sequence[Path], pages: int, compress: bool) -> list[Path]:
    """The first pages of each PDF in a file of its own, so that reading costs little.

    Without compression damage reaches the contents of the pages, with it the streams that hold objects.
    """
    import pymupdf

    folder.mkdir(parents=True, exist_ok=True)
    made = []
    for path in paths:
        target = folder / f"{path.stem}{'' if compress else '_plain'}.pdf"
        with pymupdf.open(path) as document:
            document.select(range(min(pages, len(document))))
            document.save(target, garbage=3, deflate=compress, use_objstms=int(compress), expand=0 if compress else 255)
        made.append(target)
    return made


def mutants(folder: Path, originals: Sequence[Path], count: int, seed: int) -> Iterator[Path]:
    """Damaged files, each written when it is asked for and named by its number, its damage and what it was."""
    folder.mkdir(parents=True, exist_ok=True)
    sources = [(path.stem, path.read_bytes()) for path in originals]
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")
        stem, data = sources[number % len(sources)]
        mutate = MUTATIONS[(number // len(sources)) % len(MUTATIONS)]
        path = folder / f"{number:05}_{mutate.__name__}_{stem}.pdf"
        path.write_bytes(mutate(data, chance))
        yield path


@dataclass
class Outcome:
    """What became of a run of damaged files."""

    documents: int = 0
    problems: Counter[str] = field(default_factory=Counter)
    """By reason."""
    crashed: list[Path] = field(default_factory=list)
    """Files that ended their worker: by a crash, the time limit or the memory limit."""
    resident_bytes: list[int] = field(default_factory=list)
    """Of the largest worker, after each file."""
    workers: set[int] = field(default_factory=set)
    """Process ids of all workers there were."""


def read_all(paths: Iterator[Path], workers: int, timeout_seconds: float, memory_bytes: int) -> Outcome:
    """Read the files with a real pool and take down what became of each; files that end well are deleted."""
    outcome = Outcome()
    with ReadingPool(workers, timeout_seconds, memory_bytes) as pool:
        for path, result in pool.read_all(paths):
            is_well = True
            if isinstance(result, Document):
                outcome.documents += 1
                _require_whole(result)
            else:
                assert isinstance(result, FileProblem)
                outcome.problems[result.reason] += 1
                is_well = result.reason not in {"crashed", "timeout", "too-large"}
            if is_well:
                path.unlink()
            else:
                outcome.crashed.append(path)
            _look(outcome)
    return outcome


def _look(outcome: Outcome) -> None:
    """Take down the workers' memory."""
    sizes = [0]
    for worker in workers_of():
        with suppress(psutil.NoSuchProcess):
            sizes.append(worker.memory_info().rss)
            outcome.workers.add(worker.pid)
    outcome.resident_bytes.append(max(sizes))


def _require_whole(document: Document) -> None:
    """The promises that every document keeps, however it came about."""
    document.text.encode("utf-8")
    at = 0
    for page in document.pages:
        assert at <= page.start <= page.end <= len(document.text)
        at = page.end
