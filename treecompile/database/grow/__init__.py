"""Counts for growing ID3 and CART trees, by SQL.
Bins are counted, bounded and refined until the best split is certain.
"""
