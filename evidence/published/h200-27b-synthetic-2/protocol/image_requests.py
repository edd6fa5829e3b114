"""The requests of the protocol that carry images: five in the shape of the earlier corpus, and the extensions.

Covers: what is asked about which screen. `Images` maps a file name to the stored bytes, so the corpus is built
from the frozen files and never from a fresh encoding. Does not cover: drawing (`screens.py`).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from text_requests import Entry, entry

Images = Mapping[str, bytes]


def encoded(images: Images, *names: str) -> list[str]:
    """Bare base64 of stored files."""
    return [base64.b64encode(images[name]).decode("ascii") for name in names]


def noul(instructions: str, true: str, false: str) -> dict[str, Any]:
    return {"type": "noul", "instructions": instructions, "criteria": {"true": true, "false": false}}


def choice(instructions: str, **criteria: str) -> dict[str, Any]:
    return {
        "type": "choice",
        "instructions": instructions,
        "criteria": {name: {"description": text} for name, text in criteria.items()},
    }


def score(instructions: str, *levels: str) -> dict[str, Any]:
    return {"type": "score", "instructions": instructions, "criteria": list(levels)}


DEPLOY_QUESTIONS = {
    "action": choice(
        "The release has to serve customers. Which button comes next?",
        rollback="Roll back to the release before.",
        logs="View the logs to confirm that all is well.",
        scale="Scale to more replicas.",
    ),
    "healthy": noul("Does the console report the service as healthy?", "Healthy", "Not healthy"),
}


def console_256(images: Images, name: str = "console-256x256") -> Entry:
    request = {
        "state": "Deploy console after a rollout.",
        "questions": DEPLOY_QUESTIONS,
        "images": encoded(images, "deploy-failed.png"),
    }
    return entry(name, request, {"action": "rollback", "healthy": "no"})


def console_256_changed(images: Images) -> Entry:
    request = {
        "state": "Deploy console after a rollout.",
        "questions": DEPLOY_QUESTIONS,
        "images": encoded(images, "deploy-healthy.png"),
    }
    return entry("console-256x256-changed", request, {"action": "logs", "healthy": "yes"})


def console_512(images: Images) -> Entry:
    questions = {
        "action": choice(
            "All checks are fine and a second maintainer is looking at this. Which button releases the waiting stage?",
            approve="Approve deploy",
            reject="Reject",
            logs="Open logs",
            scan="Re-run scan",
        ),
        "failed": noul("Has any stage of the pipeline failed?", "At least one failed", "None failed"),
    }
    request = {
        "state": {"screen": "release pipeline", "viewer_role": "maintainer"},
        "questions": questions,
        "images": encoded(images, "pipeline.png"),
    }
    return entry("console-512x256", request, {"action": "approve", "failed": "no"})


FORM_QUESTIONS = {
    "which": choice("Which screen shows a field that was refused?", first="The first screen.", second="The second screen."),
    "saved_last": noul("Does the last screen show the address as saved?", "It is saved", "It is not saved"),
    "flagged": score("How many fields are marked wrong over both screens?", "none", "one", "two or more"),
}
FORM_STATE = "Two screenshots of one delivery form, in the order given."


def images_2(images: Images) -> Entry:
    request = {
        "state": FORM_STATE,
        "questions": FORM_QUESTIONS,
        "images": encoded(images, "form-error.png", "form-saved.png"),
    }
    return entry("images-2", request, {"which": "first", "saved_last": "yes", "flagged": "1"})


def images_2_swapped(images: Images) -> Entry:
    request = {
        "state": FORM_STATE,
        "questions": FORM_QUESTIONS,
        "images": encoded(images, "form-saved.png", "form-error.png"),
    }
    return entry("images-2-swapped", request, {"which": "second", "saved_last": "no", "flagged": "1"})


def images_3(images: Images) -> Entry:
    questions = {
        "fullest": choice(
            "Which image shows the fullest disk?", first="Image one.", second="Image two.", third="Image three."
        ),
        "above_90": noul("Is any of the disks more than 90 percent full?", "Yes, at least one", "No, none"),
        "above_50": score(
            "How many of the disks are more than half full?", "no disk", "one disk", "two disks", "all three disks"
        ),
    }
    request = {
        "state": {"alert": "storage", "hosts": ["fjord-1", "delta-4", "gorge-2"]},
        "questions": questions,
        "images": encoded(images, "disk-fjord.png", "disk-delta.png", "disk-gorge.png"),
    }
    return entry("images-3", request, {"fullest": "third", "above_90": "yes", "above_50": "2"})


DIALOGS = ("dialog-update.png", "dialog-unsaved.png", "dialog-declined.png", "dialog-delete.png")
DIALOG_QUESTIONS = {
    "declined": choice(
        "Which dialog is about a refused payment?",
        first="Dialog 1", second="Dialog 2", third="Dialog 3", fourth="Dialog 4",
    ),
    "final": noul("Does the fourth dialog warn that its action cannot be undone?", "It does", "It does not"),
    "red": score("How many dialogs offer a red button?", "none", "one", "two", "three", "four"),
}  # fmt: skip


def images_4(images: Images) -> Entry:
    request = {"state": "", "questions": DIALOG_QUESTIONS, "images": encoded(images, *DIALOGS)}
    return entry("images-4", request, {"declined": "third", "final": "yes", "red": "1"})


def images_4_reversed(images: Images) -> Entry:
    request = {"state": "", "questions": DIALOG_QUESTIONS, "images": encoded(images, *DIALOGS[::-1])}
    return entry("images-4-reversed", request, {"declined": "second", "final": "no", "red": "1"})


def dashboard(images: Images) -> Entry:
    questions = {
        "culprit": choice(
            "Which service explains the red figure?",
            tariff="tariff", tracking="tracking", label_printer="label-printer", notify="notify",
        ),
        "pressure": score(
            "How urgent is this dashboard for the person on call?",
            "nothing to do", "look at it within the shift", "act now", "wake up everybody",
        ),
    }  # fmt: skip
    request = {
        "state": "Overview screen of a parcel carrier, taken at 23:55.",
        "questions": questions,
        "images": encoded(images, "dashboard.png"),
    }
    return entry("dashboard-768x512", request, {"culprit": "label_printer"})


TIMELINE = (
    ("17:40", "sorter", "queue length 31 and rising, no alarm yet"),
    ("18:05", "label-printer", "p95 above the limit of 500 ms, incident opened automatically"),
    ("18:07", "pager", "on-call person notified, acknowledged after 90 seconds"),
    ("18:15", "label-printer", "three of five replicas restart in a loop, memory limit reached"),
    ("18:22", "on-call", "suspects release 1.7.4 of this morning, asks the owning team"),
    ("18:31", "web team", "1.7.4 added a preview that keeps every rendered label in memory"),
    ("18:40", "on-call", "switches the preview off by flag, restarts one replica to try it"),
    ("18:52", "label-printer", "the restarted replica stays up, the two others still loop"),
    ("19:04", "duty manager", "asks to leave the two others until the evening collection is loaded"),
    ("19:30", "sorter", "queue length 44, depots report labels arriving late"),
    ("20:10", "depot north", "drivers wait about twenty minutes, nothing was cancelled"),
    ("21:45", "duty manager", "evening collection loaded, restarting the others is allowed now"),
    ("21:50", "depot north", "label printing is slow but works, the last van left at 21:44"),
    ("22:00", "pager", "shift change, handover note says: flag off, restart two replicas"),
    ("22:20", "on-call", "new person on shift reads the note, opens the dashboard"),
    ("23:10", "sorter", "queue length 46, no parcel lost, two late for tomorrow"),
    ("23:55", "dashboard", "screenshot taken, see the first image"),
    ("23:56", "settings", "screenshot of the notification settings, see the second image"),
)


def long_incident(images: Images) -> Entry:
    notes = "\n".join(f"{time} {source}: {words}." for time, source, words in TIMELINE)
    state = (
        "Handover for the night shift\n\n" + notes + "\n\nStanding orders: restart before scaling; never change the tariff "
        "service at night; tell the duty manager before anything that drivers notice; post to the status page only after "
        "a person has confirmed that customers are affected, and only if posting is switched on in the settings; when a "
        "fix is known and allowed, apply it first and write it up afterwards; note every restart with its time, host and reason."
    )
    questions = {
        "next": choice(
            "What is the next step for the person on call?",
            restart="Restart the two replicas of label-printer that still loop.",
            scale="Scale label-printer to ten replicas.",
            tariff="Roll the tariff service back.",
            wait="Wait for the morning shift.",
        ),
        "status_page": noul(
            "Would the system post this to the status page by itself?", "Posting is switched on", "Posting is switched off"
        ),
    }
    request = {
        "state": state,
        "questions": questions,
        "images": encoded(images, "dashboard.png", "settings.png"),
    }
    return entry("long-incident-images", request, {"next": "restart", "status_page": "no"})


def sizes_interleaved(images: Images) -> Entry:
    questions = {
        "quiet": noul("Are quiet hours switched on in the fourth image?", "Switched on", "Switched off"),
        "order": choice(
            "Which statement about the four images is right?",
            red_and_maintenance="The light is red and the maintenance switch is on.",
            red_only="The light is red and the maintenance switch is off.",
            green_and_maintenance="The light is green and the maintenance switch is on.",
            green_only="The light is green and the maintenance switch is off.",
        ),
    }
    request = {
        "state": ["signal", "dashboard", "maintenance switch", "settings"],
        "questions": questions,
        "images": encoded(images, "signal-red.png", "dashboard.png", "switch-on.png", "settings.png"),
    }
    return entry("sizes-interleaved", request, {"quiet": "no", "order": "red_and_maintenance"})


def waiting_room_jpeg(images: Images) -> Entry:
    questions = {
        "counter": choice(
            "To which counter does the person who is called now go?",
            c1="Counter 1", c2="Counter 2", c3="Counter 3", c4="Counter 4", c5="Counter 5",
        ),
        "called": noul("Ticket B 048: is it this person's turn already?", "It is", "Not yet"),
    }  # fmt: skip
    request = {
        "state": "Aushang im Warteraum; die Person hält die Nummer B 048 in der Hand.",
        "questions": questions,
        "images": encoded(images, "waiting-room.jpg"),
    }
    return entry("waiting-room-jpeg", request, {"counter": "c3", "called": "no"})


def phone_webp(images: Images) -> Entry:
    questions = {
        "tap": choice(
            "Which button keeps the permission from outliving this use?",
            using="While using the app",
            once="Only this time",
            never="Don't allow",
        ),
        "camera": noul("Does the app ask for the camera?", "For the camera", "For something else"),
    }
    request = {
        "state": {"goal": "用户想记录今天的徒步路线,但不想让应用以后继续使用位置。"},
        "questions": questions,
        "images": encoded(images, "phone-prompt.webp"),
    }
    return entry("phone-prompt-webp", request, {"tap": "once", "camera": "no"})


def signal_data_url(images: Images) -> Entry:
    questions = {"may_go": noul("May a vehicle pass this signal?", "It may pass", "It has to stop")}
    url = f"data:image/png;base64,{encoded(images, 'signal-red.png')[0]}"
    return entry("signal-data-url", {"state": "Depot gate.", "questions": questions, "images": [url]}, {"may_go": "no"})
