"""Databases as places to learn in: `duckdb://file.db`, `postgresql://...`, files."""
