"""Lines of generated questions, decoded: both sides' logits, the oracle's, and what they rest on."""

from __future__ import annotations

import struct
from typing import List, Sequence, Tuple

from kit.evidence.audit.numbers import floats, softmax
from kit.evidence.audit.reading import Bundle
from kit.evidence.audit.rules import GENERATED_LINES, Json, UnreadableError


class Asked:
    """One line of records/generated.jsonl, decoded; raises ValueError or a LookupError for a malformed one."""

    def __init__(self, line: Json, temperatures: Json) -> None:
        oracle = line["oracle"]
        self.line, self.modality, self.content = line, line["modality"], line["content"]
        self.temperature = temperatures[self.modality]
        self.reference, self.candidate = floats(line["reference"]["logits"]), floats(line["candidate"]["logits"])
        self.truth = doubles(oracle["logits"]) if oracle else ()
        self.errors = (oracle["reference"], oracle["candidate"]) if oracle else (0.0, 0.0)
        self.hidden_same = line["reference"]["hidden"] == line["candidate"]["hidden"]
        self.logits_same = line["reference"]["logits"] == line["candidate"]["logits"]
        self.flip = first_of(self.reference) != first_of(self.candidate)

    @property
    def answers(self) -> Tuple[List[float], List[float]]:
        return softmax(self.reference, self.temperature), softmax(self.candidate, self.temperature)


def doubles(text: str) -> Tuple[float, ...]:
    """Numbers behind the hex of little-endian float64 values."""
    data = bytes.fromhex(text)
    return struct.unpack("<%dd" % (len(data) // 8), data)


def first_of(values: Sequence[float]) -> int:
    return list(values).index(max(values))


def generated_candidate(bundle: Bundle) -> str:
    return "graph" if "graph" in bundle.engines else "native"


def asked(bundle: Bundle) -> List[Asked]:
    """Every line, decoded once."""
    if "asked" not in bundle.memory:
        found, temperatures = [], bundle.temperatures()
        for number, line in enumerate(bundle.jsonl(GENERATED_LINES)[1:], 2):
            try:
                found.append(Asked(line, temperatures))
            except (LookupError, TypeError, ValueError, struct.error) as error:
                raise UnreadableError(
                    "%s line %d is malformed (%s: %s)" % (GENERATED_LINES, number, type(error).__name__, error)
                ) from error
        bundle.memory["asked"] = found
    lines: List[Asked] = bundle.memory["asked"]
    return lines
