"""The library over HTTP: an API, a page, MCP, and a model in OpenAI's form; thin layers over `Engine`."""
