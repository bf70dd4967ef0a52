"""Program -> SVG: a tree as boxes, a list of rules as a table.
`draw` draws either of them.
"""
