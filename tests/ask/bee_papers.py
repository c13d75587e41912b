"""A library of five papers with metadata, for the routes that answer from it and from all papers at once."""

from pathlib import Path

from ragscience.core.records import Metadata
from ragscience.library.store import Library
from tests.ask.paper_library import make_library

TITLES = {
    "waggle.pdf": "Waggle: Dances That Tell Distance",
    "hives.pdf": "Warm Hives in Cold Winters",
    "sleep_2018.pdf": "Sleep and Memory",
    "scan.pdf": "",
    "nectar_1906.01234.pdf": "Nectar Networks",
}
METADATA = {
    "waggle.pdf": Metadata(
        TITLES["waggle.pdf"],
        ("Ana María Ruiz", "Bo Lind"),
        2016,
        "International Conference on Bee Research",
        doi="10.1/waggle",
        confidence={"title": 0.9, "authors": 0.9, "year": 0.9, "venue": 0.9, "doi": 0.9},
    ),
    "hives.pdf": Metadata(
        TITLES["hives.pdf"],
        ("Bo Lind",),
        2004,
        "NIPS",
        arxiv_id="0401.00001",
        confidence={"title": 0.9, "authors": 0.9, "year": 0.3, "venue": 0.9},
    ),
    "sleep_2018.pdf": Metadata(
        TITLES["sleep_2018.pdf"], ("Cy Moor", "Dee Park", "Ed Quist"), confidence={"title": 0.9}
    ),
    "nectar_1906.01234.pdf": Metadata(TITLES["nectar_1906.01234.pdf"], ("Flo Rees",), confidence={"title": 0.9}),
}
TEXTS = {
    "waggle.pdf": [
        (1, "text", "Waggle: Dances That Tell Distance\nAna Maria Ruiz and Bo Lind\nPublished in 2016."),
        (2, "text", "We used honey traps with label-smoothing. We trained it with Adam. The honey trap was cheap."),
        (3, "reference", "B. Lind. Warm hives in cold winters. 2004.\nAdam Moor. Bees. 1999."),
    ],
    "hives.pdf": [
        (1, "text", "Warm Hives in Cold Winters\nBo Lind"),
        (2, "text", "We do not use honey traps, following others. A queen excluding gate (QEG) keeps the queen below."),
    ],
    "sleep_2018.pdf": [
        (1, "text", "Sleep and Memory\nCy Moor"),
        (2, "text", "Earlier work on honey traps was done by Ruiz et al. Adams noted it. Glue holds."),
    ],
    "scan.pdf": [(1, "text", "Nothing that can be read but one word: pollen.")],
    "nectar_1906.01234.pdf": [
        (1, "text", "Nectar Networks\nFlo Rees"),
        (2, "text", "Our QEG was sold out. We evaluate on GLUE and reach 80.3. Waggle outperforms it."),
    ],
}


def make_bees(home: Path) -> Library:
    """The library, in that folder."""
    return make_library(home, {file: (title, TEXTS[file]) for file, title in TITLES.items()}, METADATA)
