"""What a feature may still be, and which rows a set of conditions accepts.
Used by passes, analysis and verification.
"""
