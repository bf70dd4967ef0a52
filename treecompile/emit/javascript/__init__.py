"""Lowers a program to a JavaScript module without dependencies; see `lower`."""
