"""What a person sees: the doors' shared half, and the only room that knows Typer, rich and prompt_toolkit."""
