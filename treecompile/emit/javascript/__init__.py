"""The JavaScript module: no dependencies. `lower` makes its strings."""
