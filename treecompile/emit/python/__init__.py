"""Lowers a program to a standalone Python module."""
