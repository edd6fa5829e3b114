"""`kit diff A B`: two bundles on a laptop: what changed between them, and did it change decisions?

`evidence` reads a bundle, `changes` says what is different about the two runs, `answers` compares question by
question, `latency` the times, `noise` what the reference does to itself; `judgement` puts it together, `tables` and
`plot` show it, `verb` is the command. Bundles of other kit versions are read as long as their record formats are the
same. Nothing here imports torch.
"""
