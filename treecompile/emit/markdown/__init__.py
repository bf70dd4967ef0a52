"""The rule document for readers who do not program.
`lower` makes its strings, one module per section.
"""
