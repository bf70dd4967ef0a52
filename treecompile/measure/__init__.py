"""The quality of a model on rows with known answers, and statistics of its rules.
Used by learning, pruning, documents and reports.
"""
