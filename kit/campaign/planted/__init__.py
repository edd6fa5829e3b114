"""Planted faults and harmless changes: what the gates catch, what they miss, and whether they cry wolf.

A fault is put into an engine from outside: around an op of its table, around its weights, its caches, the request
on the way in or the response on the way out. The model itself has no switch for any of them. A control is a change
that must make no difference. Both are asked the same requests as everything else and judged in three tiers, which
are reported apart, because a gate that compares bits catches any bit:

1. bits: hidden rows, label logits, answers, token counts and statuses equal those of the reference;
2. truth: label logits within twice the reference's own distance from the oracle, hidden rows no further from it
   (`kit.campaign.oracle_errors`), and every op, on the inputs it was really given, no further from its FP64 form
   than the reference's arithmetic;
3. HTTP: what a client sees of a remote engine: gates on probabilities, the lattice, repeats and shape.

site       engines on one copy of the weights, and the subject of a trial
asking     which requests are put to it
arithmetic, adapter, geometry, memory, answering   the faults
spelling, controls   the harmless changes
truth, local         ops in FP64, and an engine's ops against them
tiers      from what came back to what each gate saw
trials     everything once: load, ask, judge
document, table, figure   kit-faults/1, and the same for people
"""
