"""The public classes and functions: the verbs of the command line, from Python.
`treecompile` exports them; each module is loaded when it is needed.
"""
