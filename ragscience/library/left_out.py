"""Files that an ingest leaves out, by MD5: older versions of papers that are kept, and papers that were removed."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from ragscience.core.records import Paper
from ragscience.library.paper_contents import NewPaper
from ragscience.library.similarity import near_duplicates
from ragscience.library.store_protocol import Store

__all__ = ["aside", "forget_removed", "inherit_aside", "note_removed", "removed", "set_aside", "versions_aside"]

_ASIDE, _REMOVED = "aside", "removed"


def set_aside(library: Store, newer: Mapping[str, Paper]) -> None:
    """Suppress files, by MD5: they are not ingested while the library has the paper that is the newer version."""
    library.note(_ASIDE, {md5: paper.md5 for md5, paper in newer.items()})


def aside(library: Store) -> dict[str, Paper]:
    """By MD5, the suppressed files: for each the newer version, which is in the library.

    If that one is itself suppressed, the version that replaced it. A file that was added again is not suppressed.
    """
    noted = library.noted(_ASIDE)
    papers = {paper.md5: paper for paper in library.papers()} if noted else {}
    found = {}
    for md5 in noted.keys() - papers.keys():
        newer, seen = noted[md5], {md5}
        while newer not in papers and newer in noted and newer not in seen:
            seen.add(newer)
            newer = noted[newer]
        if newer in papers:
            found[md5] = papers[newer]
    return found


def inherit_aside(library: Store, older: Collection[str], paper: Paper) -> None:
    """Reassign the files suppressed in favour of the papers `older`, by MD5, to what replaced them."""
    reassigned = {file: paper.md5 for file, newer in library.noted(_ASIDE).items() if newer in older}
    reassigned.pop(paper.md5, None)
    if reassigned:
        library.note(_ASIDE, reassigned)


def versions_aside(library: Store, new: NewPaper) -> set[str]:
    """The MD5s of the papers that a new one replaces, is the same paper as, and for which files are suppressed.

    To be asked before the new one is added, and given to `inherit_aside` after.
    """
    noted = set(library.noted(_ASIDE).values()) if new.replaces else set()
    found = {paper.file: paper.md5 for paper in library.papers(new.replaces) if paper.md5 in noted} if noted else {}
    mine = replace(new.fingerprint, paper="") if found else None
    known = library.fingerprints(new.replaces) if found else []
    return {found[one.paper] for one in known if one.paper in found and mine and near_duplicates([one, mine])}


def note_removed(library: Store, papers: Collection[Paper]) -> None:
    """Remember that these papers were removed: their files are left out once the library lacks them."""
    library.note(_REMOVED, {paper.md5: paper.path for paper in papers})


def removed(library: Store) -> dict[str, str]:
    """The path that each removed paper had, by the MD5 of its file; without those that were added again."""
    noted = library.noted(_REMOVED)
    present = {paper.md5 for paper in library.papers()} if noted else set()
    return {md5: path for md5, path in noted.items() if md5 not in present}


def forget_removed(library: Store, md5s: Collection[str]) -> None:
    """Forget that the papers with these bytes were removed."""
    if known := library.noted(_REMOVED).keys() & set(md5s):
        library.note(_REMOVED, dict.fromkeys(known))
