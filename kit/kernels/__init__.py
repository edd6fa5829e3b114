"""The op table the model is written against: `select(numerics, device)` gives the callables to use.

One module an op (or an op and its fusion with a residual add), each with the plain torch form that rounds
where the reference rounds; beside it, in `OP_kernel`, the Triton kernel that may stand in for it on a GPU
(`kit.kernels.proof` decides). Does not cover: weights, layers or shapes of a whole model (`kit.model`).
"""

from kit.kernels.projections import Projection
from kit.kernels.table import Ops, select

__all__ = ["Ops", "Projection", "select"]
