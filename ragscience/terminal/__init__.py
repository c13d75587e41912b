"""The command line: parses arguments and renders events; the only package with Typer, rich and prompt_toolkit."""
