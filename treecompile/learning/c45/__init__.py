"""C4.5, release 8: gain ratio, fractional cases, grouping, pessimistic pruning."""
