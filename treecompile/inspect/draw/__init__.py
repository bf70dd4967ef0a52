"""A model as an SVG picture, laid out without any library.
Trees are drawn as boxes, rule lists as a table.
"""
