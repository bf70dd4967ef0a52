"""Learning, measuring, pruning and scoring where the rows are: in their database.
The answers equal those from memory.
"""
