"""Questions in several steps: decomposition, tools, and a second look at what was found."""
