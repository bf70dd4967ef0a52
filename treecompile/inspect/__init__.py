"""Looking at models: check, diff, show, importances.
Nothing here changes a model.
"""
