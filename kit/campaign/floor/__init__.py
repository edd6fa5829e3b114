"""The noise floor: how far the official reference is from itself under changes that change nothing in real numbers.

`forms`      the changes: row of a batch, padding, another instruction set, another draw of the autotuner
`asking`     the reference's answers under the forms that need no other process
`other_cpu`  the same with other CPU instructions, in a process of its own
`proof`      each form on the oracle: harmless is what moves the FP64 row by less than 1e-9
`document`   records/floor.json: rows, quantiles with bootstrap intervals, text and images apart
`passes`     finished passes, kept until the floor is written, so that an interrupted one goes on from them
`running`    the order of it all, and `kit floor`
`report`     the table

The floor explains a result. It never widens a gate.
"""
