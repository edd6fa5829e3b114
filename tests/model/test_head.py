"""The label head takes the fewest rows that give the full product's bits, and says which."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F

from kit.model import head as head_module
from kit.model.head import LabelHead

IDS = (*range(32, 58), *range(15, 21))


@pytest.fixture
def weight() -> torch.Tensor:
    return torch.randn(3000, 64, generator=torch.Generator().manual_seed(1)).to(torch.bfloat16)


def rows(n: int) -> torch.Tensor:
    return torch.randn(n, 64, generator=torch.Generator().manual_seed(2)).to(torch.bfloat16)


def test_logits_are_the_full_products_at_the_labels(weight: torch.Tensor) -> None:
    head = LabelHead(weight, IDS)
    head.choose(rows(20))
    for row in rows(40)[20:]:
        assert torch.equal(head.logits(row[None]), F.linear(row[None], weight)[0, list(IDS)])
    assert head.describe()["trials"][-1]["different"] == 0


def precise(x: torch.Tensor, w: torch.Tensor, error: float = 0.0) -> torch.Tensor:
    """A product rounded once, as if no sum before it had been rounded, or by a relative `error` beside it."""
    exact = x.double() @ w.double().t()
    return (exact + error * x.double().norm() * w.double().norm(dim=1)).to(x.dtype)


def test_where_the_shape_changes_nothing_the_label_rows_are_enough(
    weight: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_module.F, "linear", precise)
    head = LabelHead(weight, IDS)
    head.choose(rows(20))
    assert head.describe() == {
        "rows": 32,
        "of": 3000,
        "trials": [{"rows": 32, "compared": 1280, "cancelling": 640, "different": 0}],
    }


def test_cancelling_rows_show_an_order_of_sums_that_rounding_hides(
    weight: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few rows err by half an FP32 step: hardly a BF16 logit changes, but the rung is not taken."""

    def shape_dependent(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        return precise(x, w, 3e-8 if w.shape[0] < 256 else 0.0)

    labels = weight[list(IDS)]
    plain, cancelling = rows(20), head_module.cancelled(rows(20), labels)
    assert cancelling.dtype == plain.dtype
    assert precise(cancelling, labels).float().std() < precise(plain, labels).float().std() / 200
    assert (shape_dependent(plain, labels) != precise(plain, labels)).sum() <= 2
    assert (shape_dependent(cancelling, labels) != precise(cancelling, labels)).sum() > 20
    monkeypatch.setattr(head_module.F, "linear", shape_dependent)
    head = LabelHead(weight, IDS)
    head.choose(plain)
    assert [(trial.rows, trial.different > 0) for trial in head.trials] == [(32, True), (256, False)]


def test_labels_that_are_alike_can_be_cancelled(weight: torch.Tensor) -> None:
    alike = weight[[40, 40, 41]]
    assert (rows(4).float() @ alike.float().t()).abs().max() > 1
    assert (head_module.cancelled(rows(4), alike).float() @ alike.float().t()).abs().max() < 0.1


@pytest.mark.parametrize(
    ("good", "tried"), [(256, [32, 256]), (1024, [32, 256, 1024]), (9999, [32, 256, 1024, 3000])]
)
def test_rungs_that_differ_are_passed_over(
    weight: torch.Tensor, monkeypatch: pytest.MonkeyPatch, good: int, tried: list[int]
) -> None:
    """A product that rounds otherwise below `good` rows: the ladder climbs, at worst to the whole vocabulary."""
    exact = F.linear

    def fickle(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
        result = exact(x, w)
        return result if w.shape[0] >= min(good, 3000) else result * 1.01

    monkeypatch.setattr(head_module.F, "linear", fickle)
    head = LabelHead(weight, IDS)
    head.choose(rows(5))
    assert [trial.rows for trial in head.trials] == tried
    assert head.describe()["rows"] == tried[-1]
    assert torch.equal(head.logits(rows(1)), exact(rows(1), weight)[0, list(IDS)])


def test_label_rows_are_those_of_the_labels(weight: torch.Tensor) -> None:
    assert torch.equal(LabelHead(weight, IDS).label_rows(), weight[list(IDS)])
