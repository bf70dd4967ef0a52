"""Dataset -> Tree: ID3, CART and C4.5, pruning, cross-validation.
`training` is the whole line from a table to a measured program.
"""
