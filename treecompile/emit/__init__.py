"""Compiles programs: program -> finished strings -> template -> text.
There is a folder for each kind of target; the entry point is `compiler.emit`.
"""
