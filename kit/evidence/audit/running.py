"""Check an evidence bundle: python audit.py BUNDLE [--allowed-signers FILE [--identity ID]]

Needs Python 3.9 or later and its standard library; ssh-keygen only where signers are named, to verify SHA256SUMS.sig.

Covers: every file's hash and role; the profile, the fixed gates and the protocol's bytes; executed notebooks
against the packed sources; the recorded requests against the plan that the protocol gives; the worker's
record against the client's; every answer from the recorded logits, and the logits from hidden rows and label
head; drift, repeats, latencies and the graph cache by its policy; every gate and count of the verdict. It
shares no code with what computed them first. Every problem is listed; the last line is one JSON document.
Exit code: 0 pass, 1 fail, 2 could not judge. An empty set fails, NaN fails, and so does a check that cannot
be completed.

Does not cover: a forgery that is consistent throughout, which no offline check can refuse (compare the digest
of SHA256SUMS with one its author published elsewhere, or run it again); who made the bundle, unless allowed signers
are named; whether the packed sources are what ran; report.html, figures and logs, which are for people; whether decisions are good,
but for those a judged profile names the right answers of.

A check is a function named check_<rule>; a section is about one matter, and says which in its first line.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Tuple

from kit.evidence.audit.accuracy import check_accuracy
from kit.evidence.audit.answers import check_answers, check_logits
from kit.evidence.audit.autotune import check_autotune, check_tuning, draw_of
from kit.evidence.audit.catalogue import check_crate
from kit.evidence.audit.checkpoint import check_checkpoint, check_inventory, check_weights
from kit.evidence.audit.described import check_described, check_installed
from kit.evidence.audit.device import check_device
from kit.evidence.audit.diagnosis import check_diagnosis
from kit.evidence.audit.draws import check_draws
from kit.evidence.audit.drift import check_drift
from kit.evidence.audit.drills import check_drills
from kit.evidence.audit.effects import check_signal
from kit.evidence.audit.environment import check_packages, check_settings
from kit.evidence.audit.exchanges import (
    check_attempts,
    check_bodies,
    check_exchanges,
    check_own_answers,
    check_plan,
    check_refusals,
)
from kit.evidence.audit.files import check_formats, check_roles, check_sums
from kit.evidence.audit.floor import check_floor
from kit.evidence.audit.gates import check_gates
from kit.evidence.audit.generated import check_generated
from kit.evidence.audit.graph_cache import check_counters, check_graph, check_growth, check_memory
from kit.evidence.audit.hidden_rows import check_hidden_rows
from kit.evidence.audit.identity import check_identity, check_profile_toml
from kit.evidence.audit.latency import check_performance
from kit.evidence.audit.layers import check_layers
from kit.evidence.audit.moments import check_clocks, check_order, check_starts_of_workers, check_timings
from kit.evidence.audit.notebooks import check_declared_profile, check_notebooks, check_stages
from kit.evidence.audit.operator_plan import check_comparisons, check_proofs
from kit.evidence.audit.operators import check_operators
from kit.evidence.audit.phases import check_phases
from kit.evidence.audit.planted import check_planted
from kit.evidence.audit.protocol import check_packed_protocol, check_protocol, check_published
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.results import check_results
from kit.evidence.audit.rules import (
    AUDIT_VERSION,
    DOCUMENTS,
    EXIT_CODES,
    FOR_PEOPLE,
    GENERATED_DOCUMENTS,
    LONGEST_NAME,
    MEASURED_DOCUMENTS,
    MOST_LISTED,
    OPERATOR_DOCUMENTS,
    OPTIONAL_DOCUMENTS,
    Json,
    NotJudgedError,
    UnreadableError,
)
from kit.evidence.audit.session import check_session
from kit.evidence.audit.shapes import check_shapes
from kit.evidence.audit.signature import NO_SIGNERS, Signers, check_signature, judge_signature, refuse_signers
from kit.evidence.audit.sources import check_auditor, check_kit, check_sources
from kit.evidence.audit.told import not_derived
from kit.evidence.audit.values import short
from kit.evidence.audit.verdict import check_headline, check_verdict
from kit.evidence.audit.workers import check_engines, check_health, check_posts, check_worker

MOST_NAMED = 3  # files named where a check could not be completed
CHECKS: Tuple[Callable[[Bundle], None], ...] = (
    check_verdict, check_sums, check_signature, check_roles, check_formats, check_shapes, check_crate,
    check_identity, check_profile_toml, check_protocol, check_published, check_settings, check_packages, check_device, check_autotune,
    check_checkpoint,
    check_weights,
    check_signal,
    check_sources, check_auditor, check_kit, check_stages, check_notebooks,
    check_plan, check_exchanges, check_refusals, check_bodies, check_worker, check_posts, check_engines, check_health,
    check_answers, check_logits, check_hidden_rows,
    check_drift, check_accuracy, check_diagnosis, check_graph, check_counters, check_memory, check_draws, check_operators, check_drills, check_performance,
    check_clocks, check_timings, check_starts_of_workers, check_order, check_results, check_described, check_installed,
    check_tuning, check_inventory, check_comparisons, check_proofs, check_attempts, check_own_answers, check_growth,
    check_declared_profile, check_packed_protocol, check_session, check_phases,
    check_generated, check_layers, check_floor, check_planted,
    check_gates, check_headline,
)  # fmt: skip


def judge(path: str, most_listed: int = MOST_LISTED, signers: Signers = NO_SIGNERS) -> Json:
    """Run every check over a bundle folder; the document of the last line, with up to `most_listed` problems.

    signers: who may have signed it. Where a file is named, a bundle without a good signature by one of them fails.
    """
    bundle = Bundle(path)
    try:
        refuse_signers(signers)
        refuse_unknown(bundle)
    except (NotJudgedError, OSError) as error:
        return not_judged(str(error))
    for check in CHECKS:
        bundle.rule = check.__name__[len("check_") :]
        bundle.touched.clear()
        try:
            check(bundle)
        except UnreadableError as error:
            bundle.rule = "unreadable"  # one cause, named once, however many checks need the same thing
            bundle.fail(str(error), "what depends on it cannot be checked")
        except (
            LookupError,
            TypeError,
            ValueError,
            AttributeError,
            ArithmeticError,
            struct.error,
            SyntaxError,
            RecursionError,
            MemoryError,
        ) as error:
            files = list(OrderedDict.fromkeys(reversed(bundle.touched)))[:MOST_NAMED]
            message = "could not be completed (%s: %s): a file is not of the form expected"
            bundle.fail(" or ".join(files) or "not completed", message % (type(error).__name__, error))
    bundle.rule = "signature"
    signature = judge_signature(bundle, signers)
    if not signature.startswith("good: "):
        bundle.leave("signature (%s)" % signature)
    bundle.leave(FOR_PEOPLE)
    return summary(bundle, most_listed, signature)


def refuse_unknown(bundle: Bundle) -> None:
    """Raise NotJudgedError for what is no bundle, or one of a version this auditor does not know."""
    if not os.path.isdir(bundle.path):
        raise NotJudgedError("%s is not a folder" % bundle.path)
    for name in ("SHA256SUMS", "run.json", "profile.json", "verdict.json"):
        if not bundle.exists(name):
            raise NotJudgedError("%s is not in %s, so it is not a sealed bundle" % (name, bundle.path))
    for name, expected in {
        **DOCUMENTS,
        **OPERATOR_DOCUMENTS,
        **MEASURED_DOCUMENTS,
        **GENERATED_DOCUMENTS,
        **OPTIONAL_DOCUMENTS,
    }.items():
        try:
            found = str(bundle.json(name).get("format")) if bundle.exists(name) else expected
        except UnreadableError:
            continue  # damaged: the checks say so
        if found.split("/")[0] == expected.split("/")[0] and found != expected:
            raise NotJudgedError("%s has format %s, this auditor knows %s" % (name, found, expected))


def summary(bundle: Bundle, most_listed: int, signature: str) -> Json:
    try:
        verdict = bundle.json("verdict.json")
    except UnreadableError:
        verdict = {}
    counts = verdict.get("counts") if isinstance(verdict.get("counts"), dict) else {}
    return {
        "audit": "fail" if bundle.problems else "pass",
        **{name: plain(verdict.get(name)) for name in ("verdict", "profile", "claim")},
        **{name: plain(counts.get(name)) for name in ("requests", "questions", "posts")},
        "max_probability_drift": plain(verdict.get("max_probability_drift")),
        "draw": draw_of(bundle),
        "bundle_sha256": bundle.digest("SHA256SUMS"),
        "signature": signature,
        "problems": list(bundle.problems)[:most_listed],
        "problem_count": bundle.problem_count,
        "not_checked": list(bundle.not_checked),
        "not_derived": told_alone(bundle),
        "auditor": AUDIT_VERSION,
    }


def plain(value: Any) -> Any:
    """What may stand in the result: a short value as it is, anything else in words."""
    told = value is None or isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= LONGEST_NAME)
    return value if told else short(value)


def told_alone(bundle: Bundle) -> List[str]:
    """What rests on the run's word alone; nothing where not even the profile can be read."""
    try:
        return not_derived(bundle)
    except (UnreadableError, LookupError, TypeError):
        return []


def not_judged(reason: str) -> Json:
    """The document for something that is no bundle, or none this auditor can read."""
    return {
        "audit": "not-judged", "verdict": None, "problems": [reason], "problem_count": 1, "not_checked": ["everything"],
        "auditor": AUDIT_VERSION, "signature": "not checked: nothing was judged",
    }  # fmt: skip


def printable(value: Any) -> str:
    """A file or a name may hold anything; what is printed must not move a terminal or break a stream."""
    return json.dumps(str(value))[1:-1]


def show(result: Json) -> None:
    """Lines for people, then the same as one JSON document."""
    for problem in result["problems"]:
        print("problem: %s" % printable(problem))
    if result["problem_count"] > len(result["problems"]):
        print("problem: and %d more" % (result["problem_count"] - len(result["problems"])))
    for item in result["not_checked"]:
        print("not checked: %s" % printable(item))
    for item in result.get("not_derived", ()):
        print("not derived, the run's own word: %s" % printable(item))
    print(
        "beyond any offline check: a forgery that is consistent throughout; compare bundle_sha256 with a published one"
    )
    for name in (
        "profile",
        "claim",
        "requests",
        "questions",
        "posts",
        "max_probability_drift",
        "bundle_sha256",
        "signature",
    ):
        if result.get(name) is not None:
            print("%s: %s" % (name, printable(result[name])))
    if result.get("draw"):
        draw = {key: printable(value) for key, value in result["draw"].items()}
        print(
            "autotune draw: %(digest)s, %(source)s, %(winners)s winners; what is bitwise equal is so under this draw"
            % draw
        )
    print("verdict the bundle claims: %s" % printable(result["verdict"]))
    print("audit: %s (%d problems)" % (result["audit"], result["problem_count"]))
    print(json.dumps(result))


def main(arguments: List[str]) -> int:
    if arguments in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    paths, options = split(arguments)
    known = set(options).issubset({"--allowed-signers", "--identity"})
    if len(paths) != 1 or not known or not all(options.values()):
        print(__doc__)
        return EXIT_CODES["not-judged"]
    signers = Signers(options.get("--allowed-signers", ""), options.get("--identity", ""))
    result = judge(paths[0], signers=signers)
    show(result)
    return EXIT_CODES[result["audit"]]


def split(arguments: List[str]) -> Tuple[List[str], Dict[str, str]]:
    """What stands alone, and what follows an option."""
    paths: List[str] = []
    options: Dict[str, str] = {}
    pending = list(arguments)
    while pending:
        word = pending.pop(0)
        if word.startswith("-"):
            options[word] = pending.pop(0) if pending else ""
        else:
            paths.append(word)
    return paths, options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
