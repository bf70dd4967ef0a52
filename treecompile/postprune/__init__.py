"""Rule post-pruning: shorter rules that overlap, so that their order is their meaning.

`validation` prunes each rule against rows that were held out, `c45rules` by the
training cases alone. Both work on arrays over all rows and on rules; reading tables and
making models of the result is the business of `pruning`.
"""
