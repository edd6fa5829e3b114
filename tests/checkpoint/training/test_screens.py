"""Train's screens: themes that can be told apart, sizes that fit the batches, questions of all and none answered by what is so."""

from __future__ import annotations

import colorsys
import random
import re

import pytest

from kit.checkpoint.training.mixture import LEVELS, SCREENS, drawn
from kit.checkpoint.training.tasks import asking, sets
from kit.checkpoint.training.tasks.drawing import SIGNS, Screen
from kit.checkpoint.training.tasks.palette import APART, HUES, random_theme
from kit.checkpoint.training.tasks.parts import candidate_texts
from kit.checkpoint.training.tasks.which_image import MOST_PATCHES
from kit.checkpoint.training.vocabulary import Wordings

SMALLEST, LARGEST = 65_536, 1536  # pixels of an image, patches of a single screen
RED = asking.colour("red")


def patches(sizes: list[tuple[int, int]]) -> int:
    return sum(wide * high for wide, high in sizes) // 256


def test_a_random_theme_has_colours_of_their_names_that_are_seen_on_page_and_card() -> None:
    near = 0
    for seed in range(300):
        theme = random_theme(random.Random(seed))
        for name, (red, green, blue) in theme.status.items():
            near += any(max(abs(a - b) for a, b in zip((red, green, blue), ground, strict=True)) < APART for ground in (theme.page, theme.card))
            hue, saturation, _ = colorsys.rgb_to_hsv(red, green, blue)
            if name == "grey":
                assert saturation < 0.16
            else:
                low, high = HUES[name]
                assert low - 2 <= (hue * 360 + 360 * (high > 360 and hue < 0.5)) <= high + 2
    assert near <= 15


@pytest.mark.parametrize("family", SCREENS)
def test_images_are_of_sizes_that_fit_the_batches(family: str) -> None:
    for index in range(60):
        sizes = [image.size for image in drawn(family, "train", index).images]
        assert all(wide % 32 == 0 and high % 32 == 0 and wide * high >= SMALLEST for wide, high in sizes)
        assert patches(sizes) <= (LARGEST if len(sizes) == 1 else MOST_PATCHES)


@pytest.mark.parametrize("split", ["train", "held-out"])
def test_some_sets_are_large_and_most_are_not(split: str) -> None:
    found = [patches([image.size for image in drawn("which_image", split, index).images]) for index in range(120)]  # type: ignore[arg-type]
    assert 10 <= sum(count > 1536 for count in found) <= 50
    assert max(found) > 2304


def test_images_of_one_request_are_mostly_of_different_sizes() -> None:
    found = [{image.size for image in drawn("which_image", "train", index).images} for index in range(60)]
    assert sum(len(sizes) > 1 for sizes in found) > 36


@pytest.mark.parametrize("trait", [RED, asking.BLANK, asking.FILLED, asking.not_colour("red"), asking.shape("star")])
def test_any_every_and_none_are_answered_by_what_is_so(trait: asking.Trait, monkeypatch: pytest.MonkeyPatch) -> None:
    frames = {name: Wordings((f"{name} {{does}}",), (f"{name}: {{does}}",), (f"{name}, {{does}}",)) for name in ("ANY", "EVERY", "NONE")}
    for name, frame in frames.items():
        monkeypatch.setattr(asking, name, frame)
    monkeypatch.setattr(asking, "SAID", dict.fromkeys(frames.values(), ("aye|nay",)))
    seen = set()
    for seed in range(500):
        question, right, so = asking.quantified(random.Random(seed), "train", "row", trait, 3)
        name = question["instructions"].split()[0]
        answer = {"ANY": any(so), "EVERY": all(so), "NONE": not any(so)}[name]
        seen.add((name, answer))
        if question["type"] == "noul":
            assert right == int(not answer)
        elif "aye" in candidate_texts(question):
            assert candidate_texts(question)[right] == ("aye" if answer else "nay")
    assert len(seen) == (2 if trait.does[0] == "is not red" else 6)


def test_a_trait_is_denied_in_english() -> None:
    assert asking.not_shape("circle").does[0] == "does not show a circle"
    assert asking.not_colour("red").does[0] == "is not red"
    assert "has not turned red" in asking.not_colour("red").does
    assert asking.written("Is there a entry? A image of a one-off, two entrys") == "Is there an entry? An image of a one-off, two entries"


@pytest.mark.parametrize("kind", SIGNS)
def test_a_sign_lies_within_its_box(kind: str) -> None:
    for seed in range(8):
        screen = Screen(random.Random(seed), "held-out", (256, 256))
        plain = screen.image.copy()
        screen.sign(kind, (100, 90), (40, 30), (255, 0, 255))
        changed = [
            (x, y) for x in range(256) for y in range(256) if screen.image.getpixel((x, y)) != plain.getpixel((x, y))
        ]
        assert changed
        assert min(x for x, _ in changed) >= 59
        assert max(x for x, _ in changed) <= 141
        assert min(y for _, y in changed) >= 59
        assert max(y for _, y in changed) <= 121


def test_counts_go_to_eight_among_ten_marks() -> None:
    answers, marks = set(), set()
    for index in range(300):
        (told,) = drawn("count", "train", index, LEVELS["count"] - 1).reason.values()
        seen, _, total = told.rpartition(": ")
        answers.add(int(total))
        marks.add(0 if seen == "nothing" else len(seen.split(", ")))
    assert answers == set(range(9))
    assert max(marks) == 10


def test_a_question_about_a_set_is_answered_by_what_its_pictures_show() -> None:
    """The picture it names, the only one it is so of, or as many as it is so of."""
    sizes = [(256, 256), (320, 256), (256, 288)]
    for seed in range(60):
        question, right, images, shown = sets.made(random.Random(seed), "train", sizes, ["A", "B", "C"], ["one", "two", "three"])
        texts = candidate_texts(question)
        asked = question["instructions"]
        assert [image.size for image in images] == sizes
        named = [n for n, name in enumerate("ABC") if re.search(rf"\b{name}\b", asked)]
        if "one" in texts and len(texts) == 3:
            chosen = shown[["one", "two", "three"].index(texts[right])]
            assert shown.count(chosen) == 1
        elif texts[0] == "0" and len(named) == 1:
            assert shown[named[0]].split()[0] == texts[right]
        elif texts[0] == "0":
            assert int(texts[right]) <= 3
