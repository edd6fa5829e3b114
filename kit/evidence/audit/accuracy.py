"""Right answers, where a profile judges them: counted once more from the responses and the corpus."""

from __future__ import annotations

from typing import Any, Dict, Iterator, List, NamedTuple, Sequence, Tuple

from kit.evidence.audit.generated_figures import confidence_bins, leaves, uneven
from kit.evidence.audit.numbers import winner
from kit.evidence.audit.reading import Bundle, compare_figures
from kit.evidence.audit.rules import Json, Key, UnreadableError
from kit.evidence.audit.values import is_number, short

SERVED_FIRST = ("graph", "native", "remote", "reference")  # whose figure stands for a run


class Held(NamedTuple):
    """One answer held to the expected one; figures are None where there is no answer."""

    request: str
    question: str
    expected: str
    chosen: Any
    margin: Any
    confidence: Any

    @property
    def right(self) -> bool:
        return bool(self.chosen == self.expected)


def is_judged(bundle: Bundle) -> bool:
    """Whether the profile holds answers to the corpus's expected ones; older profiles know of no such thing."""
    return bool(bundle.profile["protocol"].get("judged", False))


def check_accuracy(bundle: Bundle) -> None:
    """Right answers of every engine and pass, wrong ones by name, as the responses and the corpus have them."""
    told, headline = bundle.json("drift.json").get("accuracy"), bundle.json("verdict.json").get("accuracy")
    if not is_judged(bundle):
        bundle.expect("drift.json accuracy", told, None)
        bundle.expect("verdict.json accuracy", headline, None)
        return
    for case in bundle.corpus():
        missing = sorted(set(case["request"]["questions"]) - set(case.get("expected", {})))
        if missing:
            bundle.fail("protocol/corpus.jsonl %s" % short(case["id"]), "expects no answer to %s" % short(missing))
    least = bundle.profile["protocol"].get("least_right", 0)
    if type(least) is not int or not 0 <= least <= len(bundle.corpus()):
        bundle.fail("profile.json protocol.least_right", "is %s of %d requests" % (short(least), len(bundle.corpus())))
    expected = accuracy_document(bundle)
    for name, found, wanted in (("drift.json", told, expected), ("verdict.json", headline, accuracy_headline(bundle))):
        if not isinstance(found, dict):
            bundle.fail("%s accuracy" % name, "is %s, expected the right answers of a judged profile" % short(found))
        else:
            compare_figures(bundle, "%s accuracy" % name, leaves(found), leaves(wanted))


def accuracy_document(bundle: Bundle) -> Json:
    """What drift.json must say of right answers; computed once."""
    if "accuracy" not in bundle.memory:
        bundle.memory["accuracy"] = computed_accuracy(bundle)
    document: Json = bundle.memory["accuracy"]
    return document


def accuracy_headline(bundle: Bundle) -> Json:
    """What verdict.json must say: the first pass of the engine that would serve."""
    document = accuracy_document(bundle)
    engine = next(name for name in SERVED_FIRST if name in bundle.engines)
    first = next(item for item in document["passes"] if item["engine"] == engine and item["pass"] == 1)
    told = {name: first[name] for name in ("engine", "correct", "of", "requests_right")}
    return dict(told, requests=document["requests"])


def computed_accuracy(bundle: Bundle) -> Json:
    passes, engines = range(1, bundle.profile["campaign"]["passes"] + 1), bundle.engines
    given = {(engine, number): held_answers(bundle, engine, number) for engine in engines for number in passes}
    reliability = []
    for engine in engines:
        known = [(item.confidence, item.right) for item in given[engine, 1] if item.confidence is not None]
        if known:
            reliability.append(dict({"engine": engine}, **confidence_bins(known)))
    return {
        "requests": len(bundle.corpus()),
        "questions": sum(len(case.get("expected", {})) for case in bundle.corpus()),
        "passes": [dict({"engine": engine, "pass": number}, **counted(given[engine, number])) for engine, number in given],
        "mcnemar": [
            discordant(one, other, given[one, 1], given[other, 1])
            for place, one in enumerate(engines)
            for other in engines[place + 1 :]
        ],
        "reliability": reliability,
    }


def held_answers(bundle: Bundle, engine: str, number: int) -> List[Held]:
    """Every expected answer beside what an engine chose in one measured pass."""
    answers: Dict[str, Json] = {}
    for line in bundle.exchanges(engine):
        if line["phase"] == "measured" and line["pass"] == number and line["status"] == 200:
            answers.setdefault(line["request_id"], bundle.body(line["response_sha256"])["answers"])
    found = []
    for case in bundle.corpus():
        for question, right in case.get("expected", {}).items():
            answer = answers.get(case["id"], {}).get(question)
            found.append(Held(case["id"], question, candidate_named(right), *figures_of(answer)))
    return found


def candidate_named(expected: Any) -> str:
    """An expected candidate by its id: a corpus may say true or false of a noul, and a score's level as a number."""
    return ("yes" if expected else "no") if isinstance(expected, bool) else str(expected)


def figures_of(answer: Any) -> Tuple[Any, Any, Any]:
    """(chosen, margin, confidence) of an answer; all None where there is none."""
    if answer is None:
        return None, None, None
    probabilities = list(answer["probabilities"].values())
    if len(probabilities) < 2 or not all(map(is_number, probabilities)):
        raise UnreadableError("an answer has no probabilities that are finite numbers")
    first, second = sorted(probabilities, reverse=True)[:2]
    return winner(answer), first - second, first


def counted(held: Sequence[Held]) -> Json:
    wrong = [item for item in held if not item.right]
    spoiled = {item.request for item in wrong}
    return {
        "correct": len(held) - len(wrong),
        "of": len(held),
        "requests_right": len({item.request for item in held} - spoiled),
        "wrong": [
            {"request": item.request, "question": item.question, "expected": item.expected, "chosen": item.chosen, "margin": item.margin}
            for item in wrong
        ],
    }


def discordant(against: str, engine: str, theirs: Sequence[Held], ours: Sequence[Held]) -> Json:
    """Right answers an engine lost and won against another."""
    lost = sum(a.right and not b.right for a, b in zip(theirs, ours))
    won = sum(b.right and not a.right for a, b in zip(theirs, ours))
    return {"engine": engine, "against": against, "lost": lost, "won": won, "p": uneven(lost, won)}


def accuracy_outcomes(bundle: Bundle) -> Iterator[Tuple[Key, Tuple[bool, int, int, str]]]:
    """(key, (passed, wrong requests, allowed, words)) of every engine, where the profile declares a least."""
    least = bundle.profile["protocol"].get("least_right", 0)
    if not is_judged(bundle) or not least:
        return
    document = accuracy_document(bundle)
    for engine in bundle.engines:
        right = min(item["requests_right"] for item in document["passes"] if item["engine"] == engine)
        words = "%d of %d requests are right, at least %d must be" % (right, document["requests"], least)
        outcome = (right >= least, document["requests"] - right, document["requests"] - least, words)
        yield ("accuracy", engine, None), outcome
