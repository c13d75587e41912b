"""Other processes read, cut and embed papers; the one that asks them alone writes the library."""
