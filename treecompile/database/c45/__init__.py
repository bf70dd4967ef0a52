"""Counts for growing and pruning C4.5 trees, by SQL.
Cases may be divided among branches.
"""
