"""Tree -> RuleSet: extraction, passes, post-pruning, and the rule language.
Every step takes a rule set and returns one.
"""
