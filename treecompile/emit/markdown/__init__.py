"""Lowers a program to the rule document, for readers who do not program.
`lower` makes the strings, with a module for each section.
"""
