"""The databases: connect, run queries, insert rows, describe columns.
Learning, scoring and `verify` all use them; `addresses.ENGINES` lists them by name.
"""
