"""Counts cases by SQL to grow and prune C4.5 trees from a table in a database.
A case is a row, or the part of a row that goes to one of several branches.
"""
