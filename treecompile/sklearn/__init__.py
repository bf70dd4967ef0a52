"""Estimators for scikit-learn, which must be installed: `treecompile[sklearn]`.

>>> from treecompile.sklearn import TreeClassifier
>>> tree = TreeClassifier(max_depth=3)
"""

from treecompile.sklearn.estimators import (
    TreeClassifier,
    TreeRegressor,
)

__all__ = ["TreeClassifier", "TreeRegressor"]
