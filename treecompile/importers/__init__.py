"""Imports models of other libraries, with one module for each library.
The result is a program: of a tree, as from `learning`, or of a forest.
"""
