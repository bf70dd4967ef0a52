"""Rule post-pruning: shorter rules that overlap, so that their order matters.

`validation` prunes each rule on held-out rows, `c45rules` by the training cases alone.
"""
