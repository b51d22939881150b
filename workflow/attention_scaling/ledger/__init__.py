"""The ledger: what the lessons claim, as data, and what a study's measurements make of it.

`models` says what an entry is, `loading` reads the YAML files, `judging` compares each entry with the
measurement table, `reasoning` tells one claim's story, `numerals` and `coverage` account for every
numeral in a lesson's text, `skeleton` begins a new lesson. The ledger knows tables, not experiments.
"""
