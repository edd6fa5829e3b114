"""`kit attack`: how a bundle is doctored, and whether an audit refuses it.

`runner.attack(bundle)` copies a bundle, does one deed after another to copies of the copy (`families`), puts right what
a forger can (`reseal`) and audits each. `progress` and `report` say it to people. Standard library only.
"""
