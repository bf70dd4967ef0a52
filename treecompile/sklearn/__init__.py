"""Estimators for scikit-learn, which must be installed: `treecompile[sklearn]`.

>>> from treecompile.sklearn import TreeClassifier
>>> tree = TreeClassifier(max_depth=3)
"""

from treecompile.sklearn.estimators import (
    RuleListClassifier,
    TreeClassifier,
    TreeRegressor,
)

__all__ = ["RuleListClassifier", "TreeClassifier", "TreeRegressor"]
