"""A database from an older copy: no cache of what came after that copy is taken for one of what comes now."""

import shutil

import numpy as np

from ragscience.library import left_out
from ragscience.library.store import Library

from .making import FROM_FILE, add, numbered_paper, paper_of, unit_rows
from .test_damage import results


def test_caches_of_what_came_after_a_backup_are_not_used_for_what_comes_after_it_was_restored(filled, tmp_path):
    rng = np.random.default_rng(7)
    backup = shutil.copy(filled.database, tmp_path / "backup.sqlite")
    with Library.open_for_writing(filled) as library:
        add(library, paper_of("/papers/lost.pdf", ["a lost narwhal"] * 3, unit_rows(rng, 3)))
        library.refresh_indexes()
        library.rebuild_indexes()
        later = library.about.version
    for path in filled.vectorstore.glob("library.sqlite*"):
        path.unlink()
    shutil.copy(backup, filled.database)
    with Library.open_for_writing(filled) as library:
        while library.about.version < later - 1:
            left_out.note_removed(library, [])
            library.rename_papers([])
        new = add(library, paper_of("/papers/new.pdf", ["a new walrus"] * 3, unit_rows(rng, 3)))
        assert library.about.version == later
    with Library.open(filled, FROM_FILE) as library:
        ids = {chunk.chunk_id for chunk in library.paper_chunks(new.paper_id)}
        assert set(library.keywords.search("walrus", 9, None)[0].tolist()) == ids
        assert library.keywords.search("narwhal", 9, None)[0].size == 0
        _, vectors = library.vectors.of()
        assert set(library.dense.search(vectors[-1], 1, None)[0].tolist()) <= ids


def test_an_undisturbed_library_keeps_its_id_and_caches(filled):
    with Library.open(filled) as library:
        before = library.about.library_id, results(library)
    with Library.open_for_writing(filled) as library:
        assert (library.about.library_id, results(library)) == before
        add(library, numbered_paper(9))
        assert library.about.library_id == before[0]
