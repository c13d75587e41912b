"""Rows that are taken from the places where they are expected, and what is done where they are not there."""

import numpy as np
import pytest

from ragscience.core.records import Filters, Profile
from ragscience.library import rows_by_id as looked_up
from ragscience.library.passage_spans import chunk_ids
from ragscience.library.rows_by_id import rows_by_id
from ragscience.library.store import Home, text_hash
from ragscience.models.token_codes import CODE_BYTES
from ragscience.search.hybrid_search import SearchModels, search
from tests.search.library_of_papers import add_paper
from tests.search.test_named_papers import OTHER, TIDE, OneDirection
from tests.store.making import add, numbered_paper

from .stores import Place
from .test_lance_damage import change_value

pytest.importorskip("lancedb", reason="lancedb is not installed: libraries in LanceDB are not tried")
ROLES = ("passages", "vectors", "tokens")


@pytest.fixture
def place(tmp_path):
    return Place(Home(tmp_path / "home"), f"lance://{tmp_path / 'lance'}")


@pytest.fixture
def read(monkeypatch):
    """What is read: (how, table, ids), in order."""
    found = []
    for how in ("_in_their_places", "_by_condition"):
        whole = getattr(looked_up, how)

        def noted(at, role, ids, whole=whole, how=how):
            rows = whole(at, role, ids)
            found.append((how, role, list(rows)))
            return rows

        monkeypatch.setattr(looked_up, how, noted)
    return found


def codes_of(number):
    return np.full((2, CODE_BYTES), number % 251, np.uint8)


def put_tokens(library, numbers):
    chunks = [chunk for number in numbers for chunk in numbered_paper(number).chunks]
    library.put_tokens({text_hash(chunk.searched): codes_of(len(chunk.text)) for chunk in chunks})


def assert_each_row_is_found(library):
    with library._reading() as at:
        ids = chunk_ids(at).tolist()
        for role in ROLES:
            found = rows_by_id(at, role, [*ids[::-2], 10_000, *ids])
            rows = at.rows(role, ["chunk_id", "paper_id"])
            assert {one: row["paper_id"] for one, row in found.items()} == {
                row["chunk_id"]: row["paper_id"] for row in rows
            }
        passages = rows_by_id(at, "passages", ids)
    assert [chunk.text for chunk in library.chunks(ids)] == [passages[one]["text"] for one in ids]
    keys, vectors = library.vectors(ids)
    whole_keys, whole = library.vectors()
    assert keys.tolist() == whole_keys.tolist() and (vectors == whole).all()
    return ids


def test_rows_stand_in_their_places_through_additions_removals_and_upkeep(place, read):
    with place.open(writing=True) as library:
        for number in range(12):
            add(library, numbered_paper(number))
        put_tokens(library, range(12))
        library.remove_papers([3, 4, 9])
        add(library, numbered_paper(20))
        put_tokens(library, [20])
        assert len(assert_each_row_is_found(library)) == library.chunk_count
        library.rebuild_indexes()
        add(library, numbered_paper(21))
        put_tokens(library, [21])
        read.clear()
        assert_each_row_is_found(library)
    assert {role: len(ids) for how, role, ids in read if how == "_in_their_places"} == dict.fromkeys(
        ROLES, library_size(place)
    )
    assert [ids for how, _, ids in read if how == "_by_condition"] == [[], [], []]  # of the unknown id


def library_size(place):
    with place.open() as library:
        return library.chunk_count


def test_token_vectors_that_came_later_or_for_some_passages_are_looked_up(place, read):
    with place.open(writing=True) as library:
        for number in range(9):
            add(library, numbered_paper(number))
        put_tokens(library, range(4, 9))
        put_tokens(library, range(1, 3))
        assert_each_row_is_found(library)
    taken = [ids for how, role, ids in read if (how, role) == ("_in_their_places", "tokens")]
    assert len(taken) == 1 and len(taken[0]) < 8


@pytest.mark.parametrize(
    ("role", "values"), [("passages", {"text": "altered"}), ("vectors", {"text_hash": b"1"}), ("tokens", {"bytes": 3})]
)
def test_a_damaged_row_is_noted_and_left_out_and_those_behind_it_are_found(place, role, values):
    with place.open(writing=True) as library:
        for number in range(5):
            add(library, numbered_paper(number))
        put_tokens(library, range(5))
    change_value(place, role, "chunk_id = 7", **values)
    with place.open() as library:
        with library._reading() as at:
            ids = chunk_ids(at).tolist()
            assert sorted(rows_by_id(at, role, ids)) == [one for one in ids if one != 7]
        assert len(library.damage()) == 1


def test_a_search_reads_each_row_of_each_table_at_most_once(place, read):
    with place.open(writing=True) as library:
        add_paper(library, "tide.pdf", "Predicting Water", TIDE, authors=("Ada Moreau",), year=2021)
        for number in range(9):
            texts = [f"{text} See {' and '.join(f'{number}{part}x' for part in range(9))}." for text in OTHER]
            add_paper(library, f"other{number}.pdf", f"On Training {number}", texts)
        library.refresh_indexes()
    profile = Profile("default", 9, 9, "weighted", 0.5, 0.5, 9, 4)
    with place.open() as library:
        models = SearchModels(OneDirection())
        for question in ("Which optimizer was used to train TideNet?", "What are networks?"):
            read.clear()
            result = search(question, library=library, models=models, profile=profile, filters=Filters())
            assert len(result.hits) == 4
            rows = [(role, one) for _, role, ids in read for one in ids]
            assert len(rows) == len(set(rows)) > 9
            assert [how for how, _, _ in read if how == "_by_condition"] == []
