"""Everything that has weights or a server: embedders, rerankers, LLMs, and the choice between them."""
