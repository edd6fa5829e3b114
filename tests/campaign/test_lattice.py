"""The grid behind probabilities: the published answers of a real 27B model lie on it, wrong ones do not.

The figures below are published probabilities of the official reference on Qwen3.8-27B; nothing else of those
requests is used here.
"""

import itertools
import math

import pytest

from kit.campaign.lattice import Lattice, lattice
from kit.contract.answer import softmax

TEXT, IMAGE = 1.3480874159655591, 1.3954832341582943
PUBLISHED = [
    # (modality, probabilities, exponent of the grid)
    ("text", [0.00504015488794939, 0.9949598451120509], 3),
    ("text", [0.0010897100350239265, 0.005521120841957601, 0.9933891691230169], 4),
    (
        "text",
        [
            0.0007097466499469256, 0.0014902508399453856, 0.0010772490376576992, 0.0016350418691250149,
            0.0011819132946165765, 0.0008543628529457552, 0.0008543628529457552, 0.0014902508399453856,
            0.008677206486499495, 0.982029615276373,
        ],
        4,
    ),
    ("text", [0.0025149207912409867, 0.9951928670689261, 0.0022922121398326304], 4),
    ("text", [0.9973600010441932, 0.0026399989558058457], 0),
    ("text", [0.007286854768673532, 0.9927131452313261], 3),
    ("text", [0.9803244925599609, 0.0014876632799361764, 0.018187844160102214], 3),
    ("image", [0.0006741098369049492, 0.9982225979149069, 0.0011032922481868399], 4),
    ("image", [0.9961415805003403, 0.003858419499657933], 2),
    ("image", [0.2502581476808945, 0.39164918555887385, 0.35809266676023116], 3),
    ("image", [0.7621442009218663, 0.2378557990781345], 3),
    ("image", [0.2837199632446548, 0.40597294910430337, 0.3103070876510422], 3),
    ("image", [0.9461597748181692, 0.05384022518183118], 0),
]
IDS = [f"{modality}-{len(p)}-{e}-{i}" for i, (modality, p, e) in enumerate(PUBLISHED)]


def declared(modality: str) -> float:
    return TEXT if modality == "text" else IMAGE


@pytest.mark.parametrize(("modality", "probabilities", "exponent"), PUBLISHED, ids=IDS)
def test_published_answers_lie_on_a_grid_no_finer_than_a_sixteenth(modality, probabilities, exponent) -> None:
    assert lattice(probabilities, declared(modality)) == Lattice(True, exponent)


@pytest.mark.parametrize(("modality", "probabilities", "exponent"), PUBLISHED, ids=IDS)
def test_the_other_modality_s_temperature_shows(modality, probabilities, exponent) -> None:
    wrong = IMAGE if modality == "text" else TEXT
    assert lattice(probabilities, wrong) == Lattice(False, None)


@pytest.mark.parametrize(("modality", "probabilities", "exponent"), PUBLISHED, ids=IDS)
def test_a_probability_edited_by_a_thousandth_shows(modality, probabilities, exponent) -> None:
    for i, factor in itertools.product(range(len(probabilities)), (0.999, 1.001)):
        edited = [p * factor if j == i else p for j, p in enumerate(probabilities)]
        assert not lattice(edited, declared(modality)).holds, f"candidate {i} times {factor}"


@pytest.mark.parametrize(
    ("logits", "exponent"),
    [
        ([3.0, 3.0], 0),  # a tie has no difference at all
        ([1.0, 0.5], 1),
        ([-4.0, 2.03125, 7.0], 5),
        ([0.0, 2.0**-20], 20),
        ([0.0, 2.0**-21], None),  # finer than the check looks
    ],
)
def test_the_coarsest_grid_is_named(logits, exponent) -> None:
    assert lattice(softmax(logits, 1.5), 1.5) == Lattice(exponent is not None, exponent)


def test_a_probability_that_underflowed_says_nothing() -> None:
    probabilities = softmax([900.0, 899.5, 0.0], 1.0)
    assert probabilities[2] == 0.0
    assert lattice(probabilities, 1.0) == Lattice(True, 1)


@pytest.mark.parametrize(
    "probabilities", [[math.nan, 0.5], [0.5, math.inf], [0.0, 0.0], [-0.1, 1.1], []], ids=str
)
def test_what_is_no_distribution_lies_on_no_grid(probabilities) -> None:
    assert lattice(probabilities, 1.0) == Lattice(False, None)


@pytest.mark.parametrize("temperature", [0.0, -1.0, math.nan, math.inf])
def test_what_is_no_temperature_gives_no_grid(temperature) -> None:
    assert lattice([0.5, 0.5], temperature) == Lattice(False, None)
