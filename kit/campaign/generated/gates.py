"""Gates over the generated questions of a run, where its profile has some.

Covers: that every declared question was answered, and was the one its seed makes; for claim exact that no hidden
row, logit or winner differs; for claim faithful that the ratio of errors against the oracle stays under its bound.
Missing evidence fails its gate. Does not cover: the figures themselves (`kit.campaign.generated.summary`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from kit.campaign import oracle_errors
from kit.campaign.gates import Gate
from kit.campaign.generated import lines, source
from kit.campaign.generated.lines import Line
from kit.campaign.generated.summary import flipped, hidden_errors
from kit.campaign.prompts import content_of
from kit.campaign.reading import RecordsError
from kit.evidence.floats import same_bits
from kit.evidence.records import sha256_bytes

if TYPE_CHECKING:
    from kit.campaign.reading import RunRecords
    from kit.profile import Generated


def generated_gates(run: RunRecords) -> Iterator[Gate]:
    """All gates of this module for a run; none for a profile without generated questions."""
    if not run.profile.generated.questions:
        return
    file = run.path / lines.FILE
    found = lines.read(file) if file.exists() else []
    engine = lines.candidate_of(run.profile.campaign.engines)
    yield _reached(run.profile.generated, found)
    if run.profile.claim == "exact":
        yield _none("generated_hidden_bitwise", engine, [not item.hidden_same for item in found], "hidden rows differ")
        different = [not same_bits(item.reference, item.candidate) for item in found]
        yield _none("generated_logits_bitwise", engine, different, "logit rows differ")
        yield _none("generated_flips", engine, [flipped(item) for item in found], "winners changed")
    if run.profile.claim == "faithful":
        yield oracle_gate(engine, found)


def _reached(wanted: Generated, found: Sequence[Line]) -> Gate:
    """As many lines as questions were declared, each of them the request that the seed makes."""
    declared = list(source.declared(wanted))
    right = [(case.id, sha256_bytes(case.body), content_of(case)) for case in declared[: len(found)]]
    strange = [item.request for item, case in zip(found, right, strict=False) if (item.request, item.sha256, item.content) != case]
    detail = f"{len(found)} of {len(declared)} declared questions were answered"
    if strange:
        detail = f"{strange[0]} is not the request that seed {wanted.seed} makes"
    passed = len(found) == len(declared) and not strange
    return Gate("generated", None, None, passed, len(found), len(declared), detail)


def _none(name: str, engine: str, bad: Sequence[bool], what: str) -> Gate:
    if not bad:
        return Gate(name, engine, None, False, None, 0, "no generated question was answered")
    return Gate(name, engine, None, not any(bad), sum(bad), 0, f"{sum(bad)} {what} of {len(bad)}")


def oracle_gate(engine: str, found: Sequence[Line]) -> Gate:
    """The upper bound of the mean ratio of hidden-row errors, over enough prompts and contents."""
    known = [item for item in found if item.truth is not None]
    if not known:
        return Gate("oracle", engine, None, False, None, oracle_errors.BOUND, "the oracle answered no question")
    errors = [hidden_errors(item) for item in known]
    try:
        ratios = [oracle_errors.ratio(candidate, reference) for reference, candidate in errors]
    except ValueError as error:
        raise RecordsError(f"{lines.FILE}: {error}") from error
    interval = oracle_errors.noninferiority(ratios, [item.content for item in known])
    problems = oracle_errors.problems(interval)
    detail = "; ".join(problems) or (
        f"mean error ratio {interval.mean:.4f} ({interval.lower:.4f} to {interval.upper:.4f}) over {interval.prompts} prompts"
    )
    return Gate("oracle", engine, None, not problems, interval.upper, oracle_errors.BOUND, detail)
