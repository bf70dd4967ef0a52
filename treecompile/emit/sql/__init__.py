"""Lowers a program to SQL in one dialect: names, literals, conditions, statements.
`lower` makes the strings; the dialects are TOML files in templates/sql/dialects.
"""
