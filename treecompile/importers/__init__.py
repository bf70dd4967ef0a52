"""Import models of other libraries, one module for each.
The result is a program: of a tree, as from `learning`, or of a forest.
"""
