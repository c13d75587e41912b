"""Who wrote what, when and where: read from the first page, its stamp and the file's own metadata.

No library of ours reads the file here: the pages come as PyMuPDF's `page.get_text("dict")` gives them, from a process
that has them anyway.
"""

from ragscience.metadata.extraction_of_metadata import metadata_of
from ragscience.metadata.reference_entries import reference_starts

__all__ = ["metadata_of", "reference_starts"]
