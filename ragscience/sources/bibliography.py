"""Papers as entries of a bibliography: BibTeX and CSL-JSON, with stable keys and uncertain fields marked."""

from ragscience.sources.bib_entries import LEFT_OUT, UNCERTAIN, Entry, citation_keys, entries_cited, entries_of
from ragscience.sources.bib_formats import as_bibtex, as_csl

__all__ = ["LEFT_OUT", "UNCERTAIN", "Entry", "as_bibtex", "as_csl", "citation_keys", "entries_cited", "entries_of"]
