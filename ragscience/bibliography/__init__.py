"""Papers as entries of a bibliography: BibTeX and CSL-JSON, with keys that stay, and what is uncertain marked."""

from ragscience.bibliography.bib_entries import LEFT_OUT, UNCERTAIN, Entry, entries_cited, entries_of
from ragscience.bibliography.bib_formats import as_bibtex, as_csl
from ragscience.bibliography.citation_keys import citation_keys

__all__ = ["LEFT_OUT", "UNCERTAIN", "Entry", "as_bibtex", "as_csl", "citation_keys", "entries_cited", "entries_of"]
