"""The standalone Python module: one row at a time, standard library only.
`lower` makes its strings.
"""
