"""Rules as a source language: text that people read and edit, and that compiles.

`printer` writes it, `syntax` parses it by `grammar.lark`, `meaning` makes a program of
it, `evidence` keeps counts from outliving the rule that they were counted for. The
language is described in `docs/rule-language.md`.
"""
