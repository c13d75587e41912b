"""A PDF becomes a Document: `pdf.read_pdf` in this process, `pool.ReadingPool` in workers that may crash."""

READING_VERSION = "reading 11"
"""Part of a library's identity: it changes when the same file would give another text."""
