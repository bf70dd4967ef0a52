"""Measures models on rows with known answers, and computes statistics of rules.
Used by learning, pruning, documents and reports.
"""
