"""Program -> finished strings -> template -> text.
One folder per kind of target; `compiler.emit` tells the whole story.
"""
