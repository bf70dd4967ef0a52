"""SQL in one dialect: names, literals, conditions, CASE expressions, statements.
`lower` makes the strings; the dialects are TOML files in templates/sql/dialects.
"""
