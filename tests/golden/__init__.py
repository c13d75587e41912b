"""What `--json` prints for the sample paper, command by command, kept as files that a test compares."""
