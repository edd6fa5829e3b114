"""Diagnosis in words: which known mistake of a server would make the reference answer as a candidate does.

`forms` is a small library of counterfactuals, each a real run of the official reference with one change; `matching`
compares a candidate's probabilities with them and names the nearest, or says that none explains them; `answers`
reads what a candidate answered, from a run, a file or a server; `reporting` is `kit diagnose`, its table and words;
`evidence` is diagnosis.json in a run of which a gate failed.

Does not cover: a judgement. A diagnosis explains a failed gate and changes none; what it names is the change that
brings the reference nearest, which need not be what happened inside the candidate.
"""
