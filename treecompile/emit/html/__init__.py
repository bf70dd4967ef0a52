"""Lowers a program to the review page: its data, its policy and its scripts."""
