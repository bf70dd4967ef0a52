"""Tree -> picture: which nodes are shown, where they stand, their texts and colours.
The template of the target `svg` writes it as a file.
"""
