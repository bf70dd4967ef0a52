"""What a model is and what it means: the IR, its semantics, values, errors, the model
file. It imports no other room.
"""
