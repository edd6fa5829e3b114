"""The requests with images: sixteen of the corpus, what is asked about the screens and what a careful person answers.

Covers: one to four screens a request, the same request over other pixels, the same screens in another order, files of
three formats, and sizes the image processor changes. Does not cover: text requests (`text_questions.py`) and drawing
(`pictures.py`).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping

from text_questions import Entry, choice, entry, noul, score

Images = Mapping[str, bytes]


def encoded(images: Images, *names: str) -> list[str]:
    """Bare base64 of stored files."""
    return [base64.b64encode(images[name]).decode("ascii") for name in names]


ROLLOUT = {"screen": "deploy console after a rollout", "services": ["checkout", "search", "mailer"]}
ROLLOUT_QUESTIONS = {
    "action": choice(
        "One service came up red and has to be rolled back. Which one?",
        {"checkout": "checkout", "search": "search", "mailer": "mailer"},
    ),
    "healthy": noul("Did checkout come up green and healthy?", "It is green", "It is not green"),
}


def console_256(images: Images, name: str = "console-256x256") -> Entry:
    shown = encoded(images, "console-before.png")
    return entry(name, ROLLOUT, ROLLOUT_QUESTIONS, {"action": "checkout", "healthy": "no"}, shown)


def console_256_changed(images: Images) -> Entry:
    shown = encoded(images, "console-after.png")
    return entry("console-256x256-changed", ROLLOUT, ROLLOUT_QUESTIONS, {"action": "mailer", "healthy": "yes"}, shown)


def console_512(images: Images) -> Entry:
    state = "Console of release 2094. Its stages, top row first: Build, Test, Scan, Deploy."
    questions = {
        "action": choice(
            "Which stage is amber, so that somebody has to watch it?",
            {"build": "Build", "test": "Test", "scan": "Scan", "deploy": "Deploy"},
        ),
        "failed": noul("Did the stage Scan end in red?", "Scan is red", "Scan is not red"),
    }
    return entry("console-512x256", state, questions, {"action": "deploy", "failed": "yes"}, encoded(images, "stages.png"))


RELEASE = "Two pictures of release screens, one after the other."
RELEASE_QUESTIONS = {
    "which": choice("Which of the two pictures has the red banner?", {"first": "first screen", "second": "second screen"}),
    "green_last": noul("Look at the second picture alone: has it a green banner?", "A green banner", "Another colour"),
    "red": score("How many of the two pictures have a red banner?", "0", "1", "2"),
}


def images_2(images: Images) -> Entry:
    shown = encoded(images, "release-red.png", "release-green.png")
    return entry("images-2", RELEASE, RELEASE_QUESTIONS, {"which": "first", "green_last": "yes", "red": "1"}, shown)


def images_2_swapped(images: Images) -> Entry:
    shown = encoded(images, "release-green.png", "release-red.png")
    return entry("images-2-swapped", RELEASE, RELEASE_QUESTIONS, {"which": "second", "green_last": "no", "red": "1"}, shown)


def images_3(images: Images) -> Entry:
    state = {"alert": "tanks of the depot", "images": 3}
    questions = {
        "fullest": choice(
            "On which of the three pictures is the tank the fullest?",
            {"first": "screen 1", "second": "screen 2", "third": "screen 3"},
        ),
        "third": noul("Was the bar on the third picture drawn in green?", "In green", "In another colour"),
        "blue": score("On how many of the three pictures is the bar blue?", "0", "1", "2", "3"),
    }
    shown = encoded(images, "tank-low.png", "tank-high.png", "tank-half.png")
    return entry("images-3", state, questions, {"fullest": "second", "third": "no", "blue": "2"}, shown)


SIGNS = ("sign-disc.png", "sign-cross.png", "sign-square.png", "sign-triangle.png")
SIGN_QUESTIONS = {
    "cross": choice(
        "There is one cross. Which picture has it?",
        {"first": "the first", "second": "the second", "third": "the third", "fourth": "the fourth"},
    ),
    "fourth": noul("Would you call the sign on the fourth picture a triangle?", "A triangle", "No triangle"),
    "red": score("On how many of these four pictures is something red?", "0", "1", "2", "3", "4"),
}


def images_4(images: Images) -> Entry:
    return entry("images-4", "", SIGN_QUESTIONS, {"cross": "second", "fourth": "yes", "red": "1"}, encoded(images, *SIGNS))


def images_4_reversed(images: Images) -> Entry:
    shown = encoded(images, *SIGNS[::-1])
    return entry("images-4-reversed", "", SIGN_QUESTIONS, {"cross": "third", "fourth": "no", "red": "1"}, shown)


def chart_384(images: Images) -> Entry:
    """Near a tie: the two tall bars differ by a twentieth of the screen's height."""
    state = {"chart": "boxes by place", "bars": ["Arlow", "Kelso", "Pello", "Selby"]}
    places = {"arlow": "Arlow", "kelso": "Kelso", "pello": "Pello", "selby": "Selby"}
    questions = {
        "most": choice("Which place has the bar that goes up highest?", places),
        "least": choice("Which place has the bar that stays lowest?", places),
    }
    return entry("chart-384x256", state, questions, {"most": "selby", "least": "pello"}, encoded(images, "boxes.png"))


NOTES = (
    ("17:40", "queue", "31 jobs and rising, no alarm yet"),
    ("18:05", "ledger", "slower than the limit of 500 ms, a ticket was opened"),
    ("18:22", "Tariq", "thinks of the release of this morning and asks the team"),
    ("18:40", "Tariq", "switches the preview off, the queue gets shorter"),
    ("21:45", "manager", "the evening van is loaded, a restart is allowed now"),
    ("22:00", "pager", "the shift changes, Nadia reads this note"),
    ("23:55", "console", "see the first picture"),
    ("00:20", "console", "see the second picture"),
)


def long_incident(images: Images) -> Entry:
    state = (
        "Note for the night shift. Two pictures of the ledger console go with it.\n"
        + "\n".join(f"{time} {source}: {words}." for time, source, words in NOTES)
        + "\nStanding order: when the ledger is slow, restart the ledger first. Nothing else is touched at night."
    )
    questions = {
        "next": choice(
            "What does the standing order name as the first step?",
            {"restart": "Restart the ledger", "scale": "Scale the gateway", "deploy": "Deploy the preview again", "wait": "Wait for the morning"},
        ),
        "status_page": noul("Was the banner on the second picture still red?", "Still red", "Not red any more"),
    }  # fmt: skip
    shown = encoded(images, "incident.png", "incident-end.png")
    return entry("long-incident-images", state, questions, {"next": "restart", "status_page": "no"}, shown)


def waiting_room_jpeg(images: Images) -> Entry:
    state = {"place": "ห้องรอ", "form": ["person", "phone", "reason"]}
    questions = {
        "wrong": choice(
            "One field of this sign-in form has a red frame and must be put right. Which?",
            {"person": "person", "phone": "phone", "reason": "reason"},
        ),
        "phone": noul("Did the visitor write something into the field phone?", "Something is written", "Nothing is written"),
    }
    return entry("waiting-room-jpeg", state, questions, {"wrong": "reason", "phone": "no"}, encoded(images, "desk-form.jpg"))


def sizes_interleaved(images: Images) -> Entry:
    state = ["alarm board", "four pictures", "small, wide, small, wide"]
    questions = {
        "amber": noul("Is amber the colour of the banner on the third picture?", "Amber", "Another colour"),
        "order": choice(
            "Where is the red banner to be seen?",
            {"first": "on picture 1", "second": "on picture 2", "third": "on picture 3", "fourth": "on picture 4"},
        ),
    }
    shown = encoded(images, "alarm-grey.png", "alarm-blue.png", "alarm-amber.png", "alarm-red.png")
    return entry("sizes-interleaved", state, questions, {"amber": "yes", "order": "fourth"}, shown)


def phone_webp(images: Images) -> Entry:
    state = {"goal": "Partager le lieu une seule fois", "buttons": ["Once", "Always", "Never"]}
    questions = {
        "tap": choice("Which button of this dialog is the filled one?", {"once": "Once", "always": "Always", "never": "Never"}),
        "never": noul("Is Never the button that stands out with colour?", "Never stands out", "Another one does"),
    }
    return entry("phone-prompt-webp", state, questions, {"tap": "once", "never": "no"}, encoded(images, "ask-location.webp"))


def signal_data_url(images: Images) -> Entry:
    """Near a tie: five red badges of eight, on a screen that is enlarged."""
    url = f"data:image/png;base64,{encoded(images, 'badges.png')[0]}"
    question = score("How many red badges are on this board?", *(str(count) for count in range(7)))
    return entry("signal-data-url", "Depot gate, board with badges.", {"red": question}, {"red": "5"}, [url])
