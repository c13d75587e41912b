"""Who wrote what, when and where: read from the first page, its stamp and the file's own metadata.

No library of ours reads the file here: the pages come as PyMuPDF's `page.get_text("dict")` gives them, from a process
that has them anyway.
"""

from ragscience.metadata.reading import metadata_of
from ragscience.metadata.references import reference_starts

__all__ = ["metadata_of", "reference_starts"]
