"""What is kept on disk: papers, their indexes, ingest, history and audit."""
