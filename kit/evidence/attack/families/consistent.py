"""Forgeries consistent throughout: nothing inside the bundle contradicts them, so only something outside can.

Few on purpose. Each says why no offline audit can refuse it and names what does: the digest its author published
elsewhere, a signature over SHA256SUMS, the protocol run again (`kit audit --recompute`), or fresh requests (`kit
challenge`). They are expected to pass a bare audit and are counted apart.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

from kit.evidence.attack.deeds import assign, change, step_up, together
from kit.evidence.attack.families import floors, walks
from kit.evidence.attack.families.clocks import utc
from kit.evidence.attack.families.latency import SAMPLES
from kit.evidence.attack.families.sources import repacked
from kit.evidence.attack.mutation import Anchor, Deed, Mutation
from kit.evidence.attack.reanswer import answer, answers_from_logits
from kit.evidence.attack.suspect import Content, Document, Suspect, as_text, posts, questions
from kit.evidence.audit.numbers import floats, softmax
from kit.evidence.audit.rules import FAULTS, FLOOR, GENERATED_LINES, LAYERS
from kit.evidence.audit.values import digest_of

PUBLISHED: tuple[Anchor, ...] = ("digest", "signature")
MODEL: tuple[Anchor, ...] = (*PUBLISHED, "recompute", "challenge")  # whatever the weights alone can show
Forgery = tuple[str, Deed, tuple[Anchor, ...], str]


def mutations(clean: Content, chance: random.Random) -> Iterator[Mutation]:
    for name, deed, anchors, why in (*of_the_model(clean), *of_the_run(clean), *of_a_measurement(clean), *of_a_device(clean)):
        yield Mutation("consistent", name, deed, ("SHA256SUMS",), "resealed", anchors, why)


def of_the_model(clean: Content) -> Iterator[Forgery]:
    """What only the weights can contradict."""
    if not clean.engines(recorded=True):
        return
    if not clean.json("profile.json")["protocol"]["pins"] and one_more_may_be_wrong(clean):
        yield (
            "a hidden row negated in every engine, its logits and answers with it, frozen answers too", negated, MODEL,
            "row, logits, answers and frozen answers agree in every engine and pass; what the model gives, the model shows",
        )  # fmt: skip
    yield (
        "another sum of weights in the checkpoint and in every engine", other_sum, MODEL,
        "the weights are not in the bundle; all that speaks of them says the same",
    )  # fmt: skip
    if clean.has("checkpoint.json"):
        yield (
            "token ids of two labels exchanged", exchange_ids, PUBLISHED,
            "rows and logits are in the order of the labels; which token a label is the tokenizer says, and it is not in the bundle",
        )  # fmt: skip


def of_the_run(clean: Content) -> Iterator[Forgery]:
    """What the run's machine alone has seen, and its own word for it."""
    yield (
        "sources edited before and after alike", repacked(lambda files: files.update({"README.md": files["README.md"] + b"\n"})),
        PUBLISHED, "what the sources were before the run is told by the bundle alone",
    )  # fmt: skip
    yield (
        "a list of what is not covered that is one line shorter, in profile and verdict",
        change("profile.json", "not_covered", by=lambda lines: lines[:-1]), PUBLISHED,
        "a profile says what its author declares, and this is another declaration",
    )  # fmt: skip
    in_steps = clean.json("profile.json")["protocol"].get("frozen_steps")
    if clean.json("profile.json")["claim"] != "baseline":
        weaker = assign("profile.json", "claim", to="baseline")
        yield (
            "a weaker claim declared, where gates that only the stronger one has go with it",
            together(weaker, without_frozen) if in_steps else weaker, PUBLISHED,
            "a claim is declared before a run; that it was another one only a digest from then shows",
        )  # fmt: skip
    if in_steps:
        yield (
            "frozen answers allowed to be off by twice the steps", change("profile.json", "protocol", "frozen_steps", by=lambda n: 2 * n),
            PUBLISHED, "how far another CPU may be off is declared before a run; that it was less only a digest from then shows",
        )  # fmt: skip
    if clean.json("profile.json")["protocol"]["frozen"]:
        yield (
            "answers frozen with the protocol declared another checkpoint's", assign("profile.json", "protocol", "frozen", to=False),
            PUBLISHED, "whose answers were frozen is a declaration too; the comparison with them then goes, gates and all",
        )  # fmt: skip
    yield (
        "a request a tenth of a millisecond faster by both clocks", quicker, PUBLISHED,
        "a time within the order and the sums that times must keep is what the client's clock said",
    )  # fmt: skip
    if clean.has("operators.json"):
        yield (
            "an op said to have been run once more", change("operators.json", "checks", 0, "repeats", by=lambda n: n + 1),
            PUBLISHED, "the tensors that were compared are not in the bundle; `kit run` compares them again",
        )  # fmt: skip
    if clean.has("signal.json"):
        yield (
            "an adapter that moved a row a little further", further, PUBLISHED,
            "the rows without the adapter are not in the bundle; `kit signal` measures them again",
        )  # fmt: skip
    figure = next((name for name in clean.names() if name.startswith("figures/")), "")
    if figure:
        yield (
            "another picture", lambda s: s.write(figure, s.read(figure) + b"\0"), PUBLISHED,
            "pictures, logs and most printed outputs are for people, and the audit says that it does not check them",
        )  # fmt: skip


def of_a_measurement(clean: Content) -> Iterator[Forgery]:
    """What was computed beside the protocol, of which figures alone are kept."""
    if clean.has(GENERATED_LINES):
        yield (
            "a generated question's row and logits moved alike on both sides", together(
                *(assign(GENERATED_LINES, 1, side, "hidden", to="0" * 64) for side in ("reference", "candidate")),
                *(change(GENERATED_LINES, 1, side, "logits", by=step_up) for side in ("reference", "candidate")),
            ), MODEL, "of generated questions the rows' digests are kept, and both sides say the same",
        )  # fmt: skip
        yield (
            "both sides a little nearer to the oracle", together(
                *(change(GENERATED_LINES, 1, "oracle", side, by=lambda error: error * 0.99) for side in ("reference", "candidate"))
            ), PUBLISHED, "the oracle's rows are not in the bundle; `kit run` asks it again",
        )  # fmt: skip
    if clean.has(LAYERS):
        yield (
            "a stage a little nearer to the oracle", together(
                change(LAYERS, "pairs", 1, "prompts", 0, "relative_rms", 1, by=lambda error: error * 0.99), walks.follow
            ), PUBLISHED, "what layers computed is not in the bundle; `kit run` and `kit bisect` walk them again",
        )  # fmt: skip
    if clean.has(FLOOR):
        yield (
            "a reference a little calmer under a harmless change", together(
                change(FLOOR, "rows", 0, "forms", "padded", "hidden", by=lambda moved: moved * 0.99), floors.follow
            ), PUBLISHED, "rows under a change are not in the bundle; `kit floor` measures them again",
        )  # fmt: skip
    if clean.has(FAULTS):
        yield (
            "a planted fault said to move more", change(FAULTS, "faults", 0, "doses", 0, "columns", "steps", "worst", by=lambda _: 99.0),
            PUBLISHED, "what a fault did is not in the bundle; `kit faults` plants it again",
        )  # fmt: skip


def of_a_device(clean: Content) -> Iterator[Forgery]:
    """What a GPU's driver and its clock said."""
    if clean.json("device.json")["kind"] == "cuda":
        yield (
            "a cooler device", change("device.json", "after", "temperature_c", by=lambda degrees: degrees - 1), PUBLISHED,
            "a driver's reading is written down once",
        )  # fmt: skip
    if clean.has(SAMPLES):
        yield (
            "one measurement a microsecond shorter", shorter, PUBLISHED,
            "a measurement within its own bounds is what the clock said; `kit run` measures again",
        )  # fmt: skip
        yield (
            "logits of a measured round moved alike in every engine", round_alike, PUBLISHED,
            "requests that are measured are no recorded ones, so their logits stand in the samples alone; `kit run` measures again",
        )  # fmt: skip


def one_more_may_be_wrong(clean: Content) -> bool:
    """Whether a request more with another answer than the corpus expects would still pass."""
    gates = [gate for gate in clean.json("verdict.json")["gates"] if gate["gate"] == "accuracy"]
    return all(gate["value"] < gate["bound"] for gate in gates)


def without_frozen(suspect: Suspect) -> None:
    """No comparison with frozen answers: one in steps goes with no weaker claim, and the bounds alone may not hold."""
    suspect.edit("profile.json", lambda profile: profile["protocol"].update(frozen=False, frozen_steps=0))


def other_sum(suspect: Suspect) -> None:
    told = suspect.json("checkpoint.json").get("weights_sum")
    for engine in suspect.engines(recorded=True):
        held = suspect.json(f"records/{engine}/engine.json")["describe"]["weights_sum"]
        suspect.substitute(suspect.worker(engine), held, digest_of([held]))
    if told:
        suspect.substitute("checkpoint.json", told, digest_of([told]))


def exchange_ids(suspect: Suspect) -> None:
    def edit(document: Document) -> None:
        ids = document["label_head"]["ids"]
        ids[0], ids[1] = ids[1], ids[0]

    suspect.edit("checkpoint.json", edit)


def quicker(suspect: Suspect) -> None:
    engine = suspect.engines()[0]

    def edit(lines: list[Document]) -> None:
        line = next(line for line in lines[5:] if line["status"] == 200)
        line["finished_ns"] -= 100_000
        line["finished_utc"] = utc(timedelta(microseconds=-100))(line["finished_utc"])

    suspect.edit_exchanges(engine, edit)


def further(suspect: Suspect) -> None:
    def edit(document: Document) -> None:
        document["questions"][0]["adapter"]["row"] *= 1 + 1e-6

    suspect.edit("signal.json", edit)
    suspect.written.discard("signal.json")  # its summary follows


def shorter(suspect: Suspect) -> None:
    def edit(document: Document) -> None:
        document["entries"][0]["wall_ms"][0][0] -= 0.001

    suspect.edit(SAMPLES, edit)


def round_alike(suspect: Suspect) -> None:
    """The first round's logits moved by one BF16 step in every engine, so that no drift shows."""

    def edit(document: Document) -> None:
        for entry in document["entries"]:
            if entry["round"] == 1 and entry["logits"]:
                entry["logits"] = [step_up(text) for text in entry["logits"]]

    suspect.edit(SAMPLES, edit)


def negated(suspect: Suspect) -> None:
    """One question answered by the mirror image of its hidden row, everywhere and from the first.

    Sign bits alone change, so the products with the label rows round as before and every logit is negated exactly.
    """
    engines = suspect.engines(recorded=True)
    lines = suspect.lines(suspect.worker(engines[0]))
    asked = {line["sequence"]: line["request_id"] for line in suspect.lines(suspect.exchanges(engines[0]))[1:]}
    line = questions(lines)[3]
    row, logits = line["hidden"], mirrored(bytes.fromhex(line["logits"]), 4).hex()
    other = suspect.store("rows", mirrored(suspect.read(f"records/rows/{row}"), 2))
    for engine in engines:
        name = suspect.worker(engine)
        suspect.substitute(name, f'"logits":"{line["logits"]}","hidden":"{row}"', f'"logits":"{logits}","hidden":"{other}"')
        answers_from_logits(suspect, engine)
    turned = [other_line for other_line in questions(lines) if other_line["hidden"] == row]
    divisors = {post["sequence"]: post["temperature"] for post in posts(lines)}
    if suspect.has("signal.json"):
        places = {(asked[same["sequence"]], same["question"]): divisors[same["sequence"]] for same in turned}
        suspect.edit("signal.json", partial(restate, places, floats(logits)))
        suspect.written.discard("signal.json")  # its summary follows
    name = f"protocol/{suspect.json('profile.json')['protocol'].get('answers', 'reference.json')}"
    if suspect.has(name):
        frozen = suspect.json(name)
        responses = {entry["id"]: entry["response"] for entry in frozen}
        for same in turned:
            told = responses[asked[same["sequence"]]]["answers"][same["question"]]
            answer(told, dict(same, logits=logits), divisors[same["sequence"]])
        suspect.write(name, as_text(frozen))


def restate(places: dict[tuple[str, str], float], logits: tuple[float, ...], document: Document) -> None:
    """What signal.json repeats of the recorded answers."""
    for entry in document["questions"]:
        divisor = places.get((entry["request"], entry["question"]))
        if divisor:
            entry["logits"], entry["probability"] = [min(logits), max(logits)], max(softmax(logits, divisor))


def mirrored(data: bytes, size: int) -> bytes:
    """Little-endian numbers of so many bytes with their signs turned."""
    return bytes(byte ^ 0x80 if place % size == size - 1 else byte for place, byte in enumerate(data))
