"""What is wrong with a library, and logs and metrics."""
