"""A knowledge graph of the papers: entities, relations, and the pages behind them."""
