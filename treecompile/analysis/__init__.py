"""Exact answers about models: are the rules sound, and where do two models differ.

Everything is decided by searching boxes of inputs (see `regions`), never by sampling.
Some of these questions are hard in general, so every search counts its steps against a
budget, and what it cannot settle within it is called undecided, not fine.
"""
