"""Looking at models: check, diff, show, draw, importances.
Nothing here changes a model.
"""
