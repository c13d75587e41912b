"""What an author holds against the papers: quotes, drafts, and tables of what each paper says."""
