"""A PDF becomes a Document: `pdf.read_pdf` in this process, `pool.ReadingPool` in workers that may crash."""

READING_VERSION = "reading 3"
"""Part of a library's identity: it changes when the same file would give another text."""


def reader_identity(*, layout: bool) -> str:
    """What a library says its papers were read by: the version, and whether the layout model was asked."""
    return f"{READING_VERSION}, layout model" if layout else READING_VERSION
