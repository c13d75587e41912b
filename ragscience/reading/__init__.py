"""A PDF becomes a Document: `pdf_reader.read_pdf` here, `worker_pool.ReadingPool` in workers that may crash."""

READING_VERSION = "reading 13"
"""Part of a library's identity: it changes when the same file would give another text."""
