"""Learns, measures and predicts inside the database that holds the rows.
The results equal those for rows in memory; for numbers, the last digits may differ.
"""
