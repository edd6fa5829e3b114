"""Questions about long documents, dossiers and identifiers: one right answer, worked out again from what is written."""

from __future__ import annotations

import json
import random
import re
from collections import Counter

import pytest

from kit.checkpoint.training.encode import open_encoder
from kit.checkpoint.training.export import DECIDER
from kit.checkpoint.training.mixture import drawn
from kit.checkpoint.training.samples import SPLITS, Split
from kit.checkpoint.training.tasks import document, document_rules, document_words, dossier, identifiers
from kit.checkpoint.training.tasks.document_text import write
from kit.checkpoint.training.tasks.parts import candidate_ids, candidate_texts
from kit.contract.prompt import state_text

NUMBER = re.compile(r"\d+")


def test_a_sentence_and_its_questions_use_the_slots_of_their_topic() -> None:
    for topic in (*document_words.NOTES, *document_words.RULES):
        for split in SPLITS:
            for text in topic.said.of(split):
                assert set(re.findall(r"\{(\w+)\}", text.casefold())) == set(topic.slots), text
            for slot, asks in topic.asks.items():
                for text in asks.of(split):
                    named = set(re.findall(r"\{(\w+)\}", text.casefold()))
                    assert named <= {*topic.slots, "person"}, text
                    assert slot not in named or slot in ("thing", "things"), text


@pytest.mark.parametrize("split", SPLITS)
def test_a_rule_says_to_a_case_what_its_numbers_say(split: Split) -> None:
    for seed in range(80):
        rng = random.Random(seed)
        made = document_rules.limit(rng, split, "Ada", "a load|tons", "the lamp", "the hall")
        low, high = sorted(map(int, set(NUMBER.findall(made.rule))))
        (n,) = map(int, NUMBER.findall(made.case))
        assert made.right == (0 if n < low else 1 if n < high else 2)
        assert n not in (low, high)
        made = document_rules.hours(rng, split, "Ada", "", "the lamp", "the hall")
        opens, shuts = (int(text) for text in re.findall(r"(\d+):00", made.rule))
        (hour,) = (int(text) for text in re.findall(r"(\d+):00", made.case))
        assert hour not in (opens, shuts)
        assert (made.right == 0) == (opens < hour < shuts)


def test_first_and_last_go_by_the_text() -> None:
    for seed in range(60):
        rng = random.Random(seed)
        made = write(rng, "train", 2)
        part = document._end(rng, "train", 2, made)
        texts = candidate_texts(part.question)
        asked = part.question["instructions"]
        first, last = (any(asked == text.format(doc=made.doc) for text in group.train) for group in (document_words.FIRST, document_words.LAST))
        if first or last:
            places = [state_text(made.state).casefold().index(text.casefold()) for text in texts]
            assert places[part.right] == (min if first else max)(places)


def test_no_other_candidate_is_a_thing_of_the_same_place_or_person() -> None:
    """"What is kept in the hall?" must not be asked beside what was carried to the hall."""
    checked = 0
    for seed in range(300):
        rng = random.Random(seed)
        made = write(rng, "train", 3)
        part = document._slot(rng, "train", 3, made)
        texts = candidate_texts(part.question)
        by_thing = {line.thing: line for line in made.lines}
        if not all(text.startswith("the ") and text in by_thing for text in texts):
            continue
        right = by_thing[texts[part.right]]
        for text in texts[: part.right] + texts[part.right + 1 :]:
            checked += 1
            assert not set(by_thing[text].values.values()) & set(right.values.values())
    assert checked > 30


def test_what_is_counted_is_there_as_often() -> None:
    for seed in range(40):
        part = document._counted(random.Random(seed), "train", 3)
        things, _, number = part.reason.rpartition(": ")
        listed = [] if things == "nothing" else things.split(", ")
        assert len(listed) == int(number) == part.right
        assert all(thing.casefold() in state_text(part.state).casefold() for thing in listed)


def test_texts_grow_by_level_and_fit_the_largest_bucket() -> None:
    encoder = open_encoder(DECIDER / "base" / "tokenizer.json")
    means = []
    for level in range(document.LEVELS):
        lengths = [len(item.ids) for index in range(20) for item in encoder.encode(drawn("document", "train", index, level))]
        means.append(sum(lengths) / len(lengths))
        assert max(lengths) <= 1152
    assert means == sorted(means)
    assert means[0] < 160
    assert means[-1] > 750


@pytest.mark.parametrize("split", SPLITS)
def test_a_dossier_is_decided_by_its_numbers_and_its_approval(split: Split) -> None:
    yes = [given for given, _ in dossier.GIVEN]
    seen = Counter[int]()
    for seed in range(150):
        case = dossier._case(random.Random(seed), split)
        fields = json.loads(json.dumps(case.state))
        policy = next(value for key, value in fields.items() if key in ("policy", "rule", "rules", "terms"))
        low, high = map(int, NUMBER.findall(policy))
        request = next(value for key, value in fields.items() if key in ("request", "case", "order", "application"))
        n = int(NUMBER.findall(str(next(value for key, value in request.items() if key != "ref" and NUMBER.search(str(value)))))[0])
        approval = next(value for key, value in fields.items() if key in ("approval", "sign_off", "consent"))
        there = next(value for key, value in approval.items() if key != "by") in yes
        assert case.outcome == (2 if n > high else 0 if n <= low or there else 1)
        assert case.needs == (low < n <= high)
        assert case.role in policy.casefold()
        seen[case.outcome] += 1
    assert min(seen.values()) > 30


@pytest.mark.parametrize("split", SPLITS)
def test_an_identifier_is_named_with_hyphens_and_chosen_by_a_key_with_underscores(split: Split) -> None:
    for seed in range(40):
        part = identifiers.part(random.Random(seed), split, 16)
        keys = candidate_ids(part.question)
        named = [key for key in keys if key.replace("_", "-") in state_text(part.state)]
        assert named == [keys[part.right]]
        assert all("_" in key and key not in text for key, text in zip(keys, candidate_texts(part.question), strict=True))
