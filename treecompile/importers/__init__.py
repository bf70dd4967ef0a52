"""Import models of other libraries, one module for each.
The result is a Program, as from `learning`.
"""
