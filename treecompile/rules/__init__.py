"""Turns trees into rule sets, simplifies and prunes these, and reads and writes rules.
Every step after the extraction takes a rule set and returns one.
"""
