"""Counts rows by SQL to grow ID3 and CART trees from a table in a database.
Bins of numbers are counted and refined until the best split is certain.
"""
