"""Every answer agrees with its question, with itself and with the recorded logits."""

from __future__ import annotations

import math
import re
from typing import Any, List, Tuple

from kit.evidence.audit.numbers import expectation, floats, is_bf16, softmax, winner
from kit.evidence.audit.planning import candidate_ids, kind_of
from kit.evidence.audit.reading import Bundle, Post
from kit.evidence.audit.rules import SUM_TOLERANCE, Json, UnreadableError
from kit.evidence.audit.values import is_number, same, short


def answer_faults(answer: Json) -> List[str]:
    """What in one answer contradicts the rest of it (sums apart)."""
    kind, p = answer["type"], list(answer["probabilities"].values())
    extra = {"choice": "choice", "noul": "noul", "score": "expected_value"}[kind]
    faults = []
    wanted = {"type", "probabilities", "confidence", extra}
    if set(answer) != wanted:
        return ["keys %s, expected %s" % (sorted(answer), sorted(wanted))]
    if not p or not all(map(is_number, p)):
        return ["a probability that is no finite number"]
    if not same(answer["confidence"], max(p)):
        faults.append("confidence %s, expected the largest probability, %s" % (short(answer["confidence"]), max(p)))
    if kind == "choice" and answer["choice"] != winner(answer):
        faults.append(
            "choice %s, expected the likeliest candidate, %s"
            % (short(answer["choice"]), short(winner(answer)))
        )
    if kind == "noul" and not same(answer["noul"], p[0]):
        faults.append("noul %s, expected p(yes), %s" % (short(answer["noul"]), p[0]))
    if kind == "score" and not same(answer["expected_value"], expectation(p)):
        faults.append("expected_value %s, expected the mean, %s" % (short(answer["expected_value"]), expectation(p)))
    return faults


def response_faults(response: Json) -> List[str]:
    """What is wrong with a response around its answers."""
    usage = response.get("usage")
    if set(response) != {"model", "answers", "usage"} or not isinstance(usage, dict):
        return ["keys %s, expected model, answers, usage" % sorted(response)]
    if set(usage) != {"input_tokens", "output_tokens", "latency_ms"}:
        return ["usage keys %s, expected input_tokens, output_tokens, latency_ms" % sorted(usage)]
    faults = [] if usage["output_tokens"] == 0 else ["output_tokens %s, expected 0" % short(usage["output_tokens"])]
    if not (is_number(usage["latency_ms"]) and usage["latency_ms"] > 0):
        faults.append("latency_ms %s, expected a positive number" % short(usage["latency_ms"]))
    return faults


def is_softmax(answer: Json, line: Json, temperature: Any) -> bool:
    """The answer's probabilities are the softmax of the recorded logits, candidate by candidate."""
    p, logits = list(answer["probabilities"].values()), floats(line["logits"])
    if list(answer["probabilities"]) != line["candidates"] or len(logits) != len(p):
        return False
    if not (is_number(temperature) and temperature > 0 and all(map(math.isfinite, logits))):
        return False
    return all(same(a, b) for a, b in zip(p, softmax(logits, temperature)))


def check_answers(bundle: Bundle) -> None:
    """Every answer answers what was asked, agrees with itself, and sums to 1."""
    names = [bundle.profile["model"]["name"], *bundle.profile["model"]["aliases"]]
    for engine in bundle.engines:
        for line in bundle.exchanges(engine):
            if line["status"] != 200:
                continue
            at = "records/%s n=%s" % (engine, line["n"])
            asked = bundle.body(line["request_sha256"])["questions"]
            response = bundle.body(line["response_sha256"])
            for fault in response_faults(response):
                bundle.fail(at, "response: %s" % fault)
            if engine != "remote" and response["model"] != names[0]:
                bundle.fail(at, "is answered by model %s, expected %s" % (short(response["model"]), names[0]))
            bundle.expect("%s answers" % at, list(response["answers"]), list(asked))
            for name, answer in response["answers"].items():
                check_answer(bundle, "%s %s" % (at, name), asked.get(name, {}), answer)


def check_answer(bundle: Bundle, at: str, question: Json, answer: Json) -> None:
    bundle.expect("%s type" % at, answer["type"], kind_of(question))
    bundle.expect("%s candidates" % at, list(answer["probabilities"]), candidate_ids(question))
    for fault in answer_faults(answer):
        bundle.fail(at, fault)
    total = math.fsum(answer["probabilities"].values())
    if not abs(total - 1) <= SUM_TOLERANCE:
        bundle.fail(at, "probabilities sum to %s, expected 1" % total)


def check_logits(bundle: Bundle) -> None:
    """Every recorded logit is a finite number, and every answer is the softmax of its logits."""
    for engine in bundle.recorded_engines:
        for line in bundle.worker(engine):
            if line["kind"] == "question":
                at = "records/%s/worker.jsonl post %s %s" % (engine, line["sequence"], line["question"])
                values = recorded_logits(at, line["logits"])
                if bundle.profile["runtime"]["dtype"] == "bfloat16" and not is_bf16(line["logits"]):
                    bundle.fail(at, "logits %s are no BF16 numbers, expected what the model's dtype holds" % short(values))
                if len(values) != len(line["candidates"]) or not all(map(math.isfinite, values)):
                    message = "%d logits for %d candidates, or one that is no finite number: %s"
                    bundle.fail(at, message % (len(values), len(line["candidates"]), short(values)))
        for line in bundle.exchanges(engine):
            if line["status"] == 200 and line["sequence"] in bundle.posts(engine):
                compare_with_logits(
                    bundle,
                    "records/%s n=%s" % (engine, line["n"]),
                    line,
                    bundle.post(engine, line["sequence"]),
                )


def recorded_logits(at: str, text: Any) -> Tuple[float, ...]:
    """Numbers of a recorded line; no check that needs them goes on without them."""
    if not (isinstance(text, str) and re.fullmatch("([0-9a-f]{8})*", text)):
        raise UnreadableError("%s: logits are %s, expected eight hex digits a candidate" % (at, short(text)))
    return floats(text)


def compare_with_logits(bundle: Bundle, at: str, line: Json, post: Post) -> None:
    response = bundle.body(line["response_sha256"])
    bundle.expect("%s input_tokens" % at, response["usage"]["input_tokens"], post.line["input_tokens"])
    for question in post.questions:
        answer = response["answers"].get(question["question"])
        if answer is None or not is_softmax(answer, question, post.line["temperature"]):
            bundle.fail(
                "%s %s" % (at, question["question"]), "the answer is not the softmax of the recorded logits"
            )
