"""A question of several parts, taken apart by its words: what it sets side by side, and the papers that it names."""
