"""The growth of trees, one level of nodes at a time: the loop is in `growth`.
ID3 and CART are grown here from rows in memory, and in `database.grow` from a table.
"""
