"""The rule language: rules as text that people read and edit, and that compiles.

`syntax` reads the tokens, `conditions` the tests and `compile` the statements, which it
makes a program of; `covering` says whether the rules leave a case open, and `printer`
writes them. docs/rule-language.md describes the language.
"""
