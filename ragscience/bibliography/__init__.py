"""Papers as entries of a bibliography: BibTeX and CSL-JSON, with keys that stay, and what is uncertain marked."""

from ragscience.bibliography.entries import LEFT_OUT, UNCERTAIN, Entry, entries_cited, entries_of
from ragscience.bibliography.formats import as_bibtex, as_csl
from ragscience.bibliography.keys import citation_keys

__all__ = ["LEFT_OUT", "UNCERTAIN", "Entry", "as_bibtex", "as_csl", "citation_keys", "entries_cited", "entries_of"]
