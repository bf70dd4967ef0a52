"""Lowers a program to a standalone Python module, for rows or, with numpy, columns.
`lower` makes the strings for rows, `columns` those for whole columns.
"""
