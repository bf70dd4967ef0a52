"""Computes with regions of features and boxes of rows: what conditions accept.
Used by passes, analysis and verification.
"""
