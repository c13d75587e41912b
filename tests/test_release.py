"""What `make release` makes by itself: notes, times in the sdist, man page. The rest it checks as it runs."""

import io
import tarfile

import pytest

from tools.make_release import notes, without_times

CHANGES = "# Changelog\n\n## Unreleased\n\n- New.\n\n## 0.2.0 - 2026-12-01\n\n- Old.\n\n## 0.1.0\n\n- Oldest.\n"


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.2.0", "# RAG Science 0.2.0 - 2026-12-01\n\n- Old.\n"),
        ("0.1.0", "# RAG Science 0.1.0\n\n- Oldest.\n"),
        ("0.3.0", "# RAG Science 0.3.0 - 2027-01-01\n\n- New.\n"),
    ],
)
def test_the_notes_are_the_section_of_the_version_or_what_is_unreleased(version, expected):
    assert notes(CHANGES, version, "2027-01-01") == expected


def test_an_sdist_is_the_same_whenever_and_whoever_made_it(tmp_path):
    made = []
    for when, owner, names in ((1, "ana", "ab"), (10**9, "ben", "ba")):
        path = tmp_path / str(when) / "x-1.tar.gz"
        path.parent.mkdir()
        with tarfile.open(path, "w:gz") as archive:
            for name in names:
                entry = tarfile.TarInfo(name)
                entry.mtime, entry.uname, entry.size = when + 0.5, owner, 1
                archive.addfile(entry, io.BytesIO(name.encode()))
        without_times(path, 5)
        made.append(path)
    assert made[0].read_bytes() == made[1].read_bytes()
    with tarfile.open(made[0]) as archive:
        assert [(each.name, each.mtime, archive.extractfile(each).read()) for each in archive] == [
            ("a", 5, b"a"), ("b", 5, b"b"),
        ]  # fmt: skip
