"""What a writer holds against the papers: quotes, and sentences of a draft."""
