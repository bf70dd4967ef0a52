"""An artefact against its model, on the engine where it will run.
`verification.verify` is the whole story.
"""
