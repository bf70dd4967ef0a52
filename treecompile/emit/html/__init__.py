"""Lowering to the review page: finished data, the policy of the page, its scripts."""
