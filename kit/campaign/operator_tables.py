"""Tables of operators.json for a reader: by op, at the sizes of the earlier engine's checks, and what guards chose.

Functions take the document and return a DataFrame; nothing is judged here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from kit.campaign.integrity import OPERATOR_MISSES

NAMED_SIZES = {  # op -> rows of the result
    "delta_rule": (63, 278, 475),
    "causal_attention": (63, 278, 475),
    "rms_norm": (1, 278),
    "packed_attention": (256, 512),
    "patch_embed": (256,),
}


def by_op(report: Mapping[str, Any]) -> pd.DataFrame:
    """One row an op: what it was compared with, how much, and the sum of everything that must be zero."""
    checks = pd.DataFrame(report["checks"])
    checks["against"] = checks["against"].str.rpartition(".")[2]
    columns: dict[str, tuple[str, str]] = {"against": ("against", "first"), "checks": ("op", "size")}
    columns |= {name: (name, "sum") for name in ("elements", *OPERATOR_MISSES)}
    columns |= {name: (name, "max") for name in ("max_abs", "relative_l2")}
    return checks.groupby("op", sort=False).agg(**columns)


def named_sizes(report: Mapping[str, Any]) -> pd.DataFrame:
    """The checks at the sizes that the earlier Rust/CUDA engine was checked at, in each layout of the values."""
    checks = pd.DataFrame(report["checks"])
    rows = checks["shape"].str.extract(r"^\[(\d+),")[0].astype(float)
    named = [row in NAMED_SIZES.get(op, ()) for op, row in zip(checks["op"], rows, strict=True)]
    columns = ["op", "shape", "variant", "elements", "different", "max_abs", "relative_l2", "replay_different"]
    return checks[named].drop_duplicates(["op", "shape", "variant"])[columns].set_index("op")


def decisions(report: Mapping[str, Any]) -> pd.DataFrame:
    """One row an op with a kernel of the kit: the shapes it was proved at, and those the plain form keeps."""
    names = ["kernel", "twin", "elements"]
    proofs = pd.DataFrame(report["proofs"], columns=["op", "choice", "elements"])
    counts = pd.crosstab(proofs["op"], proofs["choice"]).reindex(columns=names[:2], fill_value=0)
    return counts.join(proofs.groupby("op")["elements"].sum())[names]
