"""Python that is copied into artefacts: ordinary typed modules around an example model.
`source` takes the text of their functions; the lowerings say which functions they need.
"""
