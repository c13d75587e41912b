"""RAG Science: answers from your own papers, with a page behind each fact."""
