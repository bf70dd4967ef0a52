"""File or frame -> table -> typed columns -> Dataset.
The type and the categories of a column are decided here, once.
"""
