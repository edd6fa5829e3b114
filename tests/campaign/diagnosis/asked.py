"""The few requests on which tests/gpu tells every form of the library from every other; `test_asked` holds what they must do."""

from __future__ import annotations

import dataclasses
import json

from kit.campaign.protocol import Case, protocol_of
from kit.contract.request import compile_questions
from kit.profile import load_profile

PROFILE = "params/h200-4b-synthetic.toml"
# One text, images in both orders, and the two requests of which Pillow's resize changes more than a few values.
ASKED = ("severity-score-3", "images-4", "images-4-reversed", "waiting-room-jpeg", "sizes-interleaved")
# A form is named only if it is nearer on `LEAST` questions: the request that every resize changes most is asked more.
RESIZED, LENDING = "waiting-room-jpeg", ("images-4", "sizes-interleaved")


def asked() -> list[Case]:
    """Requests of the profile's protocol; that of `RESIZED` has the questions of `LENDING` too."""
    cases = {case.id: case for case in protocol_of(load_profile(PROFILE)).cases if case.id in ASKED}
    request = json.loads(cases[RESIZED].body)
    for name in LENDING:
        request["questions"] |= json.loads(cases[name].body)["questions"]
    body = json.dumps(request, ensure_ascii=False).encode()
    cases[RESIZED] = dataclasses.replace(cases[RESIZED], body=body, questions=compile_questions(request["questions"]))
    return list(cases.values())
