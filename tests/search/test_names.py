"""Which papers a text names, by what the papers say they are called and by who else uses the words."""

import json
import zlib

import numpy as np
import pytest

from ragscience.core.records import Metadata
from ragscience.core.tokenizing import TOKENIZER_VERSION
from ragscience.library.store import Home, Library
from ragscience.search import kept_names
from ragscience.search.names import LEAST_SURE, PaperNames
from ragscience.search.names_of_paper import RULES_VERSION
from tests.library.making import add, paper_of, unit_rows
from tests.search.library_of_papers import add_paper

TIDE = [
    "We introduce TideNet, a network for tides. TideNet reads water levels.",
    "TideNet was trained with waves.",
    "The optimizer of TideNet is simple.",
]
KILN = [
    "We propose Kiln Temperature Regression (KTR), a method for potters.",
    "Kiln temperature regression needs two sensors. KTR is cheap.",
    "We compare KTR with TideNet.",
]
LANTERN = ["We present Lantern, a system for stage lights.", "Lantern dims lamps.", "In Lantern, a lamp is a node."]


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path)
    with Library.open_for_writing(home) as library:
        add_paper(library, "tide_2101.00001.pdf", "Predicting Tides from Harbours", TIDE,
                  authors=("Ada Moreau", "Bo Lind"), year=2021)  # fmt: skip
        add_paper(library, "kiln.pdf", "KTR: Kiln Temperature Regression for Potters", KILN,
                  authors=("Carl Moreau", "Dee Fox", "Eve Gray"), year=2019)  # fmt: skip
        add_paper(library, "stage.pdf", "Light on the Stage", LANTERN, authors=("Finn Sörensen",))
        add_paper(library, "harvest.pdf", "Grain in Autumn", ["A harvest takes days.", "Each harvest needs hands."])
        library.refresh_indexes()
    return home


def named(home, text):
    with Library.open(home) as library:
        return [(one.file, one.name) for one in PaperNames.of(library).in_text(text)]


@pytest.mark.parametrize(
    ("text", "file", "name"),
    [
        ("Which optimizer does TideNet use?", "tide_2101.00001.pdf", "TideNet"),
        ("which optimizer does tidenet use?", "tide_2101.00001.pdf", "tidenet"),
        ("Who wrote Predicting tides from harbours?", "tide_2101.00001.pdf", "Predicting tides from harbours"),
        ("What does KTR need?", "kiln.pdf", "KTR"), ("How many KTRs are there?", "kiln.pdf", "KTRs"),
        ("What are nodes in Lantern?", "stage.pdf", "Lantern"),
        ("What did Moreau and Lind train?", "tide_2101.00001.pdf", "Moreau and Lind"),
        ("What did Moreau et al. (2019) measure?", "kiln.pdf", "Moreau et al. (2019"),
        ("What dims the lamps of Sorensen?", "stage.pdf", "Sorensen"),
        ("Summarize “Harvest.pdf”, please", "harvest.pdf", "Harvest.pdf"),
        ("Who wrote tide_2101.00001.pdf?", "tide_2101.00001.pdf", "tide_2101.00001.pdf"),
    ],
)  # fmt: skip
def test_a_name_leads_to_its_paper(home, text, file, name):
    assert named(home, text) == [(file, name)]


@pytest.mark.parametrize(
    "text", ["How mild is the weather?", "How long does a harvest take?", "What is a network?", "Moreau 1987", "moreau"]
)
def test_no_name(home, text):
    assert named(home, text) == []


def test_a_word_that_is_a_part_of_a_longer_one_is_surely_no_name(home):
    with Library.open(home) as library:
        bare, joined = map(PaperNames.of(library).in_text, ("how bright is lantern?", "a lantern-like lamp?"))
    assert joined[0].strength < LEAST_SURE < bare[0].strength


def test_a_name_that_other_papers_use_as_a_word_leads_to_none(home):
    assert named(home, "What is Lantern for?") == [("stage.pdf", "Lantern")]
    with Library.open_for_writing(home) as library:
        for number in range(4):
            texts = [f"A lantern burns {part} hours on ship {number}." for part in range(6)]
            add_paper(library, f"ship{number}.pdf", f"Ship {number} at Night", texts)
        library.refresh_indexes()
    assert named(home, "What is Lantern for?") == []
    assert named(home, "What is TideNet for?") == [("tide_2101.00001.pdf", "TideNet")]


def test_an_open_process_follows_changes_with_the_names_it_has(home, monkeypatch):
    found = []
    find = kept_names.names_of_paper
    monkeypatch.setattr(
        kept_names,
        "names_of_paper",
        lambda paper, chunks, library: (found.append(paper.file), find(paper, chunks, library))[1],
    )
    texts = (
        "Is KTR like TideNet and Lantern, and what of Sundial?",
        "tide_2101.00001.pdf or again.pdf?",
        "Moreau et al.",
    )

    def in_texts(library):
        return [PaperNames.of(library).in_text(text) for text in texts]

    def other_folder(library):  # both files then go by longer names
        made = paper_of(
            "/more/stage.pdf", ["We present Sundial, a clock of light."], unit_rows(np.random.default_rng(8), 1)
        )
        add(library, made)

    with Library.open(home) as reader:
        in_texts(reader)
        for change in (
            lambda library: add_paper(library, "new.pdf", "Newer Things", ["We present Sundial, a clock."]),
            lambda library: library.remove_papers([1]),
            lambda library: add_paper(library, "again.pdf", "TideNet: Tides Once More", TIDE),
            lambda library: library.rename_papers([(2, "/papers/oven.pdf", 5)]),
            other_folder,
            lambda library: library.sources.put(
                library.papers()[0].md5, Metadata(title="Sundial in Summer", url="https://a.b/c")
            ),
        ):
            with Library.open_for_writing(home) as library:
                change(library)
                library.refresh_indexes()
            found.clear()
            kept = home.names.read_bytes()
            followed = in_texts(reader)
            assert len(found) <= 2
            assert home.names.read_bytes() == kept  # who writes the library writes them
            with Library.open(home) as fresh:
                assert in_texts(fresh) == followed


@pytest.mark.parametrize(
    "damage", ["missing", "cut off", "a letter", "of another library", "not JSON", "of an earlier version"]
)
def test_names_that_are_damaged_or_missing_are_found_again(home, damage):
    with Library.open(home) as library:
        expected = PaperNames.of(library).of_paper(1)
    whole = home.names.read_text()
    if damage == "missing":
        home.names.unlink()
    elif damage == "cut off":
        home.names.write_text(whole[: len(whole) // 2])
    elif damage == "a letter":
        home.names.write_text(whole.replace("TideNet", "TideNex"))
    elif damage == "not JSON":
        home.names.write_bytes(b"\xff\x00")
    elif damage == "of an earlier version":
        made_by = [RULES_VERSION, TOKENIZER_VERSION, library.about.library_id]
        body = json.dumps({"made_by": made_by, "generation": library.about.version, "papers": {}})
        home.names.write_text(f"{zlib.crc32(body.encode()):08x}\n{body}")
    else:
        body = whole.partition("\n")[2].replace(library.about.library_id, "f" * len(library.about.library_id))
        home.names.write_text(f"{zlib.crc32(body.encode()):08x}\n{body}")
    with Library.open(home) as library:
        assert PaperNames.of(library).of_paper(1) == expected
    assert home.names.read_text() == whole
