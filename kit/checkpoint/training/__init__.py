"""The embedded checkpoint, trained from nothing on decision tasks that are made by rule.

Covers: the tasks and their splits, the tokenizer, prompts as arrays, the trainable network, the trainer with its
curriculum, calibration and judgement, and the export of what was trained. Modules of the data import no torch.
Does not cover: answering requests (`kit.engine`), or other checkpoints (`kit.checkpoint`).
"""
