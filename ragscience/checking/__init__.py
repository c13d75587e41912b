"""Every sentence of an answer, held against the pages that it cites."""
