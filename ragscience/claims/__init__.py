"""Whether pages say what a sentence claims: its facts, the pages as evidence, and the verdict."""
