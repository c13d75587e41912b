"""Embedders, rerankers and LLMs, local or on a server, and the choice between them."""
