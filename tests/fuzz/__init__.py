"""Random and broken inputs for every door of the program.

A door is a way in: a table, a model file, rules, an artefact, an option. A case is one
input as data, made by a door from a seed. The oracle runs it and says whether what
happened is allowed. `pool` runs cases in worker processes with limits.

    python -m tests.fuzz DOOR SEED         print the input, run it, say what happened
    python -m tests.fuzz DOOR FIRST COUNT  run many, list findings by kind
    python -m tests.fuzz FILE              run an input from cases/ again
"""
