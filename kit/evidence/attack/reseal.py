"""The forger's half of an attack: after a deed, put right everything that follows from it.

Covers: bodies and rows under their new digests, answers from logits (for deeds that ask for it), engine.json from the
worker's record, digests of profile, protocol, sources and label rows, counters, drift, performance, operator totals,
signal summary, the verdict with every gate and count, the page for people, the catalogue description, and SHA256SUMS
last. What an auditor can recompute a forger can recompute as well, so the auditor's own functions do it. A document
that the deed itself wrote stays as written. What can no longer be derived, because the deed broke what it follows
from, stays as it was.

Does not cover: inventing records that were never made; that is what a deed does.
"""

from __future__ import annotations

import io
import struct
import tarfile
from collections import Counter
from collections.abc import Callable
from typing import Any

from kit.evidence import crate, report
from kit.evidence.attack.suspect import Document, Suspect, as_text, canonical, compact
from kit.evidence.attack.toml import as_toml
from kit.evidence.audit.accuracy import accuracy_document, accuracy_headline, is_judged
from kit.evidence.audit.drift import comparisons, drift_rows, worst_of
from kit.evidence.audit.effects import signal_summary
from kit.evidence.audit.gates import recomputed_gates
from kit.evidence.audit.generated_figures import generated_summary, stage_facts
from kit.evidence.audit.graph_cache import graph_phases, simulation
from kit.evidence.audit.latency import figure_name, latency_rows
from kit.evidence.audit.layers import median_ratios, worst_stages
from kit.evidence.audit.measured import sampled_rows, targets
from kit.evidence.audit.numbers import expectation, floats, softmax
from kit.evidence.audit.operators import MISSES
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.results import expected_result
from kit.evidence.audit.rules import CACHES, FROZEN_ONLY, GENERATED, GENERATED_STAGE, LAYERS, UnreadableError
from kit.evidence.records import sha256_bytes
from kit.evidence.source_archive import pack, unpack

CANNOT = (
    LookupError, TypeError, ValueError, AttributeError, ArithmeticError, OSError, UnreadableError, RecursionError,
    tarfile.TarError, EOFError, struct.error, MemoryError, SyntaxError,
)  # fmt: skip
LARGEST = 64 << 20  # bytes of one source file
INPUTS = ("profile.json", "protocol/")
PREFIXES = ("generated", "oracle")  # gates over generated questions
UNLISTED = ("SHA256SUMS", "SHA256SUMS.sig")
FIGURES = {
    "probability": "probability_drift", "confidence": "confidence_drift",
    "noul": "noul_drift", "expected_value": "expected_drift",
}  # fmt: skip
WORST = ("probability_drift", "confidence_drift", "noul_drift", "expected_drift", "max_steps")


def reseal(suspect: Suspect) -> list[str]:
    """Put everything right that follows from a deed; names of what could not be derived any more."""
    left = []
    for step in STEPS:
        try:
            step(suspect)
        except CANNOT:
            left.append(step.__name__)
    return left


def derived(suspect: Suspect, name: str, change: Callable[[Document, Bundle], object]) -> None:
    """Rebuild a document in place, unless the deed wrote it or this bundle has none."""
    if name in suspect.written or not suspect.has(name):
        return
    document = suspect.json(name)
    before = canonical(document)
    change(document, Bundle(str(suspect.path)))
    if canonical(document) != before:
        suspect.put(name, as_text(document))


# ---------------------------------------------------------------- answers (called by deeds)


def answers_from_logits(suspect: Suspect, engine: str) -> None:
    """Answer every request of an engine again, from the logits its record now has."""
    posts: dict[Any, Document] = {}
    found: dict[Any, list[Document]] = {}
    for line in suspect.lines(suspect.worker(engine))[1:]:
        if line["kind"] == "post":
            posts[line["sequence"]] = line
        elif line["kind"] == "question":
            found.setdefault(line["sequence"], []).append(line)
    exchanges = suspect.lines(suspect.exchanges(engine))
    told: dict[Any, str] = {}
    for exchange in exchanges[1:]:
        if exchange["status"] == 200:
            sequence = exchange["sequence"]
            response = json_body(suspect, exchange["response_sha256"])
            for question in found[sequence]:
                answer(response["answers"][question["question"]], question, posts[sequence]["temperature"])
            told[sequence] = exchange["response_sha256"] = suspect.store("bodies", compact(response))
    suspect.write(suspect.exchanges(engine), b"".join(compact(line) + b"\n" for line in exchanges))

    def tell(lines: list[Document]) -> None:
        for line in lines[1:]:
            if line["kind"] == "post" and line["sequence"] in told:
                line["response_sha256"] = told[line["sequence"]]

    suspect.edit_worker(engine, tell)


def json_body(suspect: Suspect, digest: str) -> Any:
    return suspect.json(f"records/bodies/{digest}")


def answer(document: Document, question: Document, temperature: float) -> None:
    """An answer as its logits give it."""
    p = softmax(floats(question["logits"]), temperature)
    settle(document, dict(zip(question["candidates"], p, strict=True)))


def settle(document: Document, probabilities: dict[str, float]) -> None:
    """An answer around given probabilities: everything else in it follows from them."""
    document["probabilities"] = probabilities
    p = list(probabilities.values())
    document["confidence"] = max(p)
    if document["type"] == "choice":
        document["choice"] = next(name for name, value in probabilities.items() if value == max(p))
    elif document["type"] == "noul":
        document["noul"] = p[0]
    else:
        document["expected_value"] = expectation(p)


# ---------------------------------------------------------------- steps, in the order that things follow


def name_by_digest(suspect: Suspect) -> None:
    """Bodies and rows that were edited in place get their new digest for a name, in every record."""
    for kind in ("bodies", "rows"):
        for name in [name for name in suspect.written if name.startswith(f"records/{kind}/") and suspect.has(name)]:
            old, new = name.rpartition("/")[2], sha256_bytes(suspect.read(name))
            if old != new:
                suspect.rename(name, f"records/{kind}/{new}")
                for engine in suspect.engines():
                    for record in (suspect.exchanges(engine), suspect.worker(engine)):
                        if suspect.has(record) and old.encode() in suspect.read(record):
                            suspect.substitute(record, old, new)


def drop_orphans(suspect: Suspect) -> None:
    """Bodies and rows that no record names any more."""
    records = b"".join(suspect.read(name) for name in suspect.names() if name.endswith(".jsonl"))
    for name in suspect.names():
        stored = name.startswith(("records/bodies/", "records/rows/")) and name not in suspect.written
        if stored and name.rpartition("/")[2].encode() not in records:
            suspect.remove(name)


def engine_facts(suspect: Suspect) -> None:
    """engine.json repeats what the worker said of itself."""
    for engine in suspect.engines(recorded=True):
        lines = suspect.lines(suspect.worker(engine))
        ready: Document = next((line for line in lines if line.get("kind") == "ready"), {})
        closed: Document = next((line for line in lines if line.get("kind") == "closed"), {})

        def change(document: Document, _: Bundle, ready: Document = ready, closed: Document = closed) -> None:
            document["describe"] = ready.get("describe", {})
            document["counters"] = closed.get("counters", {})
            document["memory"] = {"ready": ready.get("memory", {}), "closed": closed.get("memory", {})}

        derived(suspect, f"records/{engine}/engine.json", change)


def label_rows(suspect: Suspect) -> None:
    def change(document: Document, _: Bundle) -> None:
        head = document["label_head"]
        head["rows_sha256"] = sha256_bytes(suspect.read(head["file"]))

    derived(suspect, "checkpoint.json", change)


def protocol(suspect: Suspect) -> None:
    """The protocol's own list, the digest of it in run.json, and in the profile where that pins it."""
    sums = "protocol/SHA256SUMS"
    if sums not in suspect.written and suspect.has(sums):
        inside = {name.removeprefix("protocol/") for name in suspect.names() if name.startswith("protocol/")}
        listed = sorted(inside - {"SHA256SUMS"})
        text = "".join(f"{sha256_bytes(suspect.read(f'protocol/{name}'))}  {name}\n" for name in listed)
        if text.encode() != suspect.read(sums):
            suspect.put(sums, text.encode())
    digest = sha256_bytes(suspect.read(sums if suspect.has(sums) else "protocol/corpus.jsonl"))
    profile = suspect.json("profile.json")
    if profile["protocol"]["sha256"] not in ("", digest) and "profile.json" not in suspect.written:
        profile["protocol"]["sha256"] = digest
        suspect.write("profile.json", canonical(profile))
    derived(suspect, "run.json", lambda document, _: document.update(protocol_sha256=digest))


def profile(suspect: Suspect) -> None:
    """profile.toml says what profile.json says; run.json and every stage carry its digest."""
    document = suspect.json("profile.json")
    digest = sha256_bytes(suspect.read("profile.json"))
    if "profile.json" in suspect.written and "profile.toml" not in suspect.written:
        suspect.put("profile.toml", as_toml(document).encode())
    derived(suspect, "run.json", lambda d, _: d.update(profile_sha256=digest, profile=document["name"]))
    for name in suspect.names():
        if name.startswith("stages/"):
            derived(suspect, name, lambda d, _: d.update(profile_sha256=digest))


def packed_inputs(suspect: Suspect) -> None:
    """The packed sources hold the profile and the protocol that the run was given, so those follow too."""
    if "source.tar.gz" in suspect.written or not any(name.startswith(INPUTS) for name in suspect.written):
        return
    packed = dict(unpack(suspect.read("source.tar.gz")))
    folder = suspect.json("profile.json")["protocol"]["path"]
    given = suspect.json("stages/01_preflight.json")["parameters"]["profile"]
    inputs = {f"{folder}/{name.removeprefix('protocol/')}": name for name in suspect.names() if name.startswith("protocol/")}
    changed = {place: suspect.read(name) for place, name in {**inputs, given: "profile.toml"}.items() if place in packed}
    if any(packed[place] != data for place, data in changed.items()):
        suspect.write("source.tar.gz", pack({**packed, **changed}.items()))


def sources(suspect: Suspect) -> None:
    """sources.json lists what source.tar.gz now holds, and audit.py is the one in there."""
    if "source.tar.gz" not in suspect.written:
        return
    data = suspect.read("source.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
        plain = [member for member in archive if member.isfile()]
        if any(member.size > LARGEST for member in plain):
            raise ValueError("a forger does not unpack his own bomb")
        files = {member.name: archive.extractfile(member) for member in plain}
        digests = {name: sha256_bytes(file.read()) for name, file in sorted(files.items()) if file}
    derived(
        suspect, "sources.json", lambda d, _: d.update(before=digests, after=digests, archive_sha256=sha256_bytes(data))
    )


def counters(suspect: Suspect) -> None:
    def change(document: Document, bundle: Bundle) -> None:
        for engine in bundle.engines:
            facts = bundle.json(f"records/{engine}/engine.json")
            document["engines"].setdefault(engine, {})["counters"] = facts["counters"]
        if "graph" in bundle.engines:
            made, told = simulation(bundle), document["engines"]["graph"]
            for moment in ("ready", "closed"):
                told[moment] = {"reported": made.reported.get(moment), "predicted": made.totals[moment]}
            told["mismatches"] = {name: [] for name in CACHES}
            told["phases"] = graph_phases(bundle)

    derived(suspect, "counters.json", change)


def drift(suspect: Suspect) -> None:
    def change(document: Document, bundle: Bundle) -> None:
        rows = drift_rows(bundle)
        names = ("engine", "against", "request", "question")
        document["rows"] = [{**dict(zip(names, key, strict=True)), **row} for key, row in rows.items()]
        document["worst"] = {
            f"{engine}/{against}": {column: worst_of(rows, engine, against, column) for column in WORST}
            for engine, against in comparisons(bundle)
        }
        if is_judged(bundle):
            document["accuracy"] = accuracy_document(bundle)

    derived(suspect, "drift.json", change)


def performance(suspect: Suspect) -> None:
    def change(document: Document, bundle: Bundle) -> None:
        rows = latency_rows(bundle)
        if bundle.measured:
            samples = sampled_rows(bundle)
            rows.update(samples)
            weight = bundle.json("records/performance_samples.json")["weight_bytes"]
            for item, (name, value, bound, least, outcome) in zip(
                document["measured"]["targets"], targets(samples, weight), strict=False
            ):
                item.update(target=name, value=value, bound=bound, at_least=least, outcome=outcome)
        old = {place_of(row): row for row in document["rows"]}
        document["rows"] = [{**old.get(place_of(row), {}), **row} for row in in_old_order(old, list(rows.values()))]
        starts(document, bundle)

    derived(suspect, "performance.json", change)


def place_of(row: Document) -> tuple[Any, ...]:
    return (row["engine"], row["workload"], row["way"], row["tokens"], row.get("pass"))


def in_old_order(old: dict[Any, Document], rows: list[Document]) -> list[Document]:
    order = {place: number for number, place in enumerate(old)}
    return sorted(rows, key=lambda row: order.get(place_of(row), len(order)))


def starts(document: Document, bundle: Bundle) -> None:
    """How long each engine took to start and to its first answer."""
    for engine in bundle.engines:
        recorded = bundle.json(f"records/{engine}/engine.json").get("start_seconds")
        line = next((line for line in bundle.exchanges(engine) if line["status"] == 200), None)
        if recorded is not None and line is not None:
            first = recorded + (line["finished_ns"] - line["started_ns"]) / 1e9
            document["start_seconds"][figure_name(engine)] = recorded
            document["first_answer_seconds"][figure_name(engine)] = first


def operator_totals(suspect: Suspect) -> None:
    """Totals are sums; an operators.json that the deed wrote itself says so already or was meant not to."""

    def change(document: Document, _: Bundle) -> None:
        checks = document["checks"]
        sums = {name: sum(check[name] for check in checks) for name in ("elements", *MISSES)}
        document["totals"] = {**document["totals"], **sums, "checks": len(checks)}

    derived(suspect, "operators.json", change)


def signal(suspect: Suspect) -> None:
    derived(suspect, "signal.json", lambda d, _: d.update(summary=signal_summary(d["questions"])))


def generated(suspect: Suspect) -> None:
    """Figures over all generated questions, and the worst of each layer."""
    derived(suspect, GENERATED, lambda document, bundle: document.update(generated_summary(bundle)))

    def change(document: Document, _: Bundle) -> None:
        for pair in document["pairs"]:
            pair["worst"] = worst_stages(pair["prompts"])
        if len(document["pairs"]) > 2:
            document["oracle_ratio"] = {document["pairs"][0]["engine"]: median_ratios(document["pairs"])}

    derived(suspect, LAYERS, change)


def results(suspect: Suspect) -> None:
    """What each stage says it found."""

    def change(document: Document, bundle: Bundle) -> None:
        expected = expected_result(bundle, document["stage"])
        if document["stage"] == GENERATED_STAGE:
            failed = [gate["gate"] for gate in bundle.json("verdict.json")["gates"] if not gate["passed"]]
            document["result"]["facts"] = stage_facts(bundle, [name for name in failed if name.startswith(PREFIXES)])
        elif expected is not None:
            document["result"] = expected

    for name in suspect.names():
        if name.startswith("stages/"):
            derived(suspect, name, change)


def verdict(suspect: Suspect) -> None:
    """Gates, counts and headline as recomputed; scope and what is not covered as the profile now has them."""

    def change(document: Document, bundle: Bundle) -> None:
        rows, pairs, declared = drift_rows(bundle), comparisons(bundle), bundle.profile
        document.update(claim=declared["claim"], not_covered=declared["not_covered"], profile=declared["name"])
        document["scope"] = declared["scope"] if bundle.reference else f"{declared['scope']}; {FROZEN_ONLY}"
        document["run"] = bundle.json("run.json")["id"]
        document["counts"] = counts(bundle)
        document["against"] = [kind for kind in ("fresh", "frozen") if any(pair[1] == kind for pair in pairs)]
        worst = [worst_of(rows, *pair, "probability_drift") for pair in pairs if pair[1] == document["against"][0]]
        document["max_probability_drift"] = max(worst)
        document["drift"] = {
            f"{engine}/{against}": {name: worst_of(rows, engine, against, column) for name, column in FIGURES.items()}
            for engine, against in pairs
        }
        if is_judged(bundle):
            document["accuracy"] = accuracy_headline(bundle)
        document["gates"] = gates(document["gates"], bundle)
        document["failures"] = list(dict.fromkeys(gate["gate"] for gate in document["gates"] if not gate["passed"]))
        document["verdict"] = "fail" if document["failures"] else "pass"

    derived(suspect, "verdict.json", change)


def counts(bundle: Bundle) -> Document:
    """Requests, questions and what became of every post."""
    lines = [(engine, line) for engine in bundle.engines for line in bundle.exchanges(engine)]
    return {
        "requests": len(bundle.corpus()),
        "questions": sum(len(case["request"]["questions"]) for case in bundle.corpus()),
        "posts": len(lines),
        "ok": sum(line["status"] == 200 for _, line in lines),
        "rejected": sum(line["status"] == 422 for _, line in lines),
        "by_engine": dict(Counter("frontend" if line["target"] == "frontend" else name for name, line in lines)),
    }


def gates(told: list[Document], bundle: Bundle) -> list[Document]:
    """Every recomputed gate in the order of the told ones, in its own words where it has any, else in the told ones."""
    texts: dict[Any, list[str]] = {}
    for gate in told:
        texts.setdefault((gate["gate"], gate["engine"], gate["against"]), []).append(gate["detail"])
    expected = recomputed_gates(bundle)
    ordered = [key for key in texts if key in expected] + [key for key in expected if key not in texts]
    found = []
    for gate, engine, against in ordered:
        key = (gate, engine, against)
        for number, outcome in enumerate(expected[key]):
            detail = [outcome.detail] if outcome.detail is not None else texts.get(key, [])[number : number + 1] or [""]
            found.append({
                "gate": gate, "engine": engine, "against": against, "passed": outcome.passed, "value": outcome.value,
                "bound": outcome.bound, "detail": detail[0],
            })  # fmt: skip
    return found


def page(suspect: Suspect) -> None:
    if "report.html" not in suspect.written:
        suspect.put("report.html", report.render(suspect.path).encode())


def catalogue(suspect: Suspect) -> None:
    if crate.METADATA not in suspect.written:
        listed = [name for name in suspect.names() if name not in UNLISTED]
        suspect.put(crate.METADATA, crate.metadata(suspect.path, listed))


def sums(suspect: Suspect) -> None:
    """SHA256SUMS over what there is now, in the kit's own form."""
    if "SHA256SUMS" not in suspect.written:
        listed = [name for name in suspect.names() if name not in UNLISTED]
        suspect.put(
            "SHA256SUMS", "".join(f"{sha256_bytes(suspect.read(name))}  {name}\n" for name in listed).encode()
        )


STEPS = (
    name_by_digest, drop_orphans, engine_facts, label_rows, protocol, profile, packed_inputs, sources, counters, drift, performance,
    operator_totals, signal, generated, verdict, results, page, catalogue, sums,
)  # fmt: skip
