"""Verifies that an artefact answers like its model, on the engine where it will run.
The entry point is `verification.verify`.
"""
