"""Where generated questions come from: composed as ever, or held-out ones with labels, the same for the same seed."""

import json
from itertools import islice

from kit.campaign.generated.source import HELD_OUT, declared, generator_of, held_out
from kit.campaign.prompts import GENERATOR, generate_mixed
from kit.checkpoint.training.mixture import drawn
from kit.checkpoint.training.tasks import SCREENS, TEXT
from kit.profile import Generated


def test_composed_questions_are_those_of_the_seed() -> None:
    wanted = Generated(12, 5)
    assert list(declared(wanted)) == list(generate_mixed(12, seed=5))
    assert generator_of(wanted) == GENERATOR


def test_held_out_questions_come_four_of_text_and_two_with_images_in_turn() -> None:
    wanted = Generated(12, 5, "held-out")
    ids = [case.id for case in declared(wanted)]
    assert ids == [
        "text-0000", "text-0001", "text-0002", "text-0003", "image-0000", "image-0001",
        "text-0004", "text-0005", "text-0006", "text-0007", "image-0002", "image-0003",
    ]  # fmt: skip
    assert generator_of(wanted) == HELD_OUT
    assert [case.modality for case in declared(wanted)][:6] == ["text"] * 4 + ["image"] * 2


def test_each_asks_one_question_whose_answer_is_one_of_its_candidates() -> None:
    for case in held_out(60, seed=1):
        (question,) = case.questions
        assert case.expected[question.id] in [candidate.id for candidate in question.candidates]
        assert bool(json.loads(case.body).get("images")) == (case.modality == "image")


def test_more_of_a_seed_begin_with_the_same_and_no_request_comes_twice() -> None:
    few, many = list(held_out(30, seed=2)), list(held_out(90, seed=2))
    assert many[:30] == few
    assert len({case.body for case in many}) == 90
    assert {case.body for case in held_out(30, seed=3)}.isdisjoint(case.body for case in few)


def test_they_are_the_held_out_samples_of_the_training_package_family_after_family() -> None:
    families = [name for name in TEXT if name != "multi"]
    first = [case.body for case in islice(held_out(60, seed=4), 60) if case.modality == "text"]
    assert first[: len(families)] == [drawn(name, "held-out", 4 * 10**6, 0).body() for name in families]
    images = [case.body for case in held_out(60, seed=4) if case.modality == "image"]
    assert images[0] == drawn(next(iter(SCREENS)), "held-out", 4 * 10**6, 0).body()
