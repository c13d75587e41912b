"""Passages for a question: first pass, fusion, reranking, and the names of papers."""
