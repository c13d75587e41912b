"""Title, authors, year, venue and identifiers of a paper, read from its first page and the file's properties.

Nothing here opens the file: pages come as PyMuPDF's `page.get_text("dict")` gives them.
"""

from ragscience.reading.paper_metadata import metadata_of

__all__ = ["metadata_of"]
