"""A PDF becomes a Document: `pdf.read_pdf` in this process, `pool.ReadingPool` in workers that may crash."""

READING_VERSION = "reading 10"
"""Part of a library's identity: it changes when the same file would give another text."""


def reader_identity(layout: str) -> str:
    """What a library says its papers were read by: the version, and when the layout model was asked if not "auto"."""
    return READING_VERSION if layout == "auto" else f"{READING_VERSION}, layout {layout}"
