"""Many short questions made from a seed: how often does a candidate decide otherwise, and is it as near the truth?

`sides`       reference and candidate in one process, on one copy of the weights
`session`     every question by both, and the oracle's errors
`lines`       records/generated.jsonl: one line a question, everything later figures rest on
`exact`       exact bounds and tests on counts of flips
`summary`     generated.json, from the lines alone
`gates`       what a claim asks of them
`plots`       tables and figures

The 49 frozen questions show that nothing differs on them; 0 flips of 49 only says that fewer than 6% flip.
"""
