"""The rule language: rules as text that people read and edit, and that compiles.

`syntax` parses it by `grammar.lark`, `compile` makes a program of it, `printer` writes
it. docs/rule-language.md describes the language.
"""
