"""The server: the API, its guard, OpenAI's form and MCP, over real sockets."""
