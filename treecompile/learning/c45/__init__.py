"""C4.5, release 8: gain ratio, fractional cases, grouping, pessimistic pruning.
A source supplies the counts: rows in memory here, a database in `database.c45`.
"""
