"""Decision tasks made by rule, to train, calibrate and judge the embedded checkpoint.

Covers: the tasks and their splits, the mixture of a curriculum, the tokenizer's corpus, and prompts as arrays.
Does not cover: the model, the optimiser, or fitting temperatures.
"""
