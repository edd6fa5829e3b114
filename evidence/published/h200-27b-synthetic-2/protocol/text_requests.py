"""The text requests of the protocol: eleven in the shape of the earlier published corpus, two longer ones.

Covers: what is asked, and the expected answer where there is exactly one. Tickets, tools, rules and services
are made up. Requests with images are in `image_requests.py`; the order of all of them is in `generate.py`.
"""

from __future__ import annotations

import json
from typing import Any

Entry = dict[str, Any]


def entry(name: str, request: dict[str, Any], expected: dict[str, str] | None = None) -> Entry:
    """One line of the corpus. Key order is kept: it is part of the frozen bytes."""
    modality = "image" if request.get("images") else "text"
    line: Entry = {"id": name, "modality": modality}
    if expected:
        line["expected"] = expected
    return line | {"request": request}


def one(question: str, kind: str, instructions: str, criteria: Any) -> dict[str, Any]:
    """A `questions` object with a single question."""
    return {question: {"type": kind, "instructions": instructions, "criteria": criteria}}


def route_2() -> Entry:
    state = {
        "channel": "chat",
        "customer_since": 2019,
        "message": "I was charged twice for the October invoice, please send one of the two payments back. Merci !",
    }
    criteria = {
        "billing": {"description": "Invoices, refunds and payment methods."},
        "technical": {"description": "Errors, outages and integration questions."},
    }
    return entry(
        "route-choice-2",
        {"state": state, "questions": one("agent", "choice", "Which agent should take this conversation?", criteria)},
        {"agent": "billing"},
    )


def triage_3() -> Entry:
    state = (
        "件名: ログインできません\n本文: 今朝から社員全員が管理画面に入れません。エラー 503 が出ます。"
        "回避策はありません。至急お願いします。\n契約: エンタープライズ"
    )
    criteria = {
        "now": "Page the on-call engineer: many users are blocked and there is no workaround.",
        "today": "Answer within the working day: one user is blocked or there is a workaround.",
        "backlog": "Collect for planning: a wish or a cosmetic fault.",
    }
    return entry(
        "triage-choice-3",
        {"state": state, "questions": {"lane": {"instructions": "Pick the lane for\n  this ticket.", "criteria": criteria}}},
        {"lane": "now"},
    )


def intent_10() -> Entry:
    criteria = {
        "cancel_order": {"description": "Stop an order before it ships."},
        "change_address": {"description": "Send an open order to another address."},
        "track_parcel": {"description": "Say where a shipped parcel is."},
        "return_item": {"description": "Start the return of something received."},
        "broken_item": {"description": "Report damage on arrival."},
        "invoice_copy": {"description": "Send an invoice again."},
        "gift_card": {"description": "Balance and use of gift cards."},
        "account_delete": {"description": "Erase the account and its data."},
        "opening_hours": {"description": "When the shops are open."},
        "other": {"description": None},
    }
    state = "Hola, el jarrón llegó roto: la caja estaba aplastada por un lado. Tengo fotos. Pedido 88-1207."
    return entry(
        "intent-choice-10",
        {"state": state, "questions": one("intent", "choice", "What does the writer want to do first?", criteria)},
        {"intent": "broken_item"},
    )


QUEUES = (
    "accounts payable", "badge and doors", "calendar and rooms", "desktop hardware", "e-mail delivery",
    "file shares", "guest network", "hiring portal", "identity and passwords", "joiners and leavers",
    "keyboard and mouse requests", "licences", "mobile phones", "network cabling", "office moves", "printers",
    "quality database", "remote access", "security incidents", "travel booking", "user training",
    "video conferencing", "web site", "expense forms", "year-end closing", "everything else",
)  # fmt: skip


def queue_26() -> Entry:
    state = {
        "subject": "Toner streaks on floor 3",
        "text": "Every page from the device next to the kitchen has a grey stripe on the left. Two cartridges tried.",
        "attachments": 1,
    }
    criteria = {f"q{index:02d}": {"description": f"Help desk queue: {name}."} for index, name in enumerate(QUEUES)}
    return entry(
        "queue-choice-26",
        {"state": state, "questions": one("queue", "choice", "Which help desk queue owns this?", criteria)},
        {"queue": "q15"},
    )


LANGUAGES = (
    "ar Arabic", "bg Bulgarian", "bn Bengali", "ca Catalan", "cs Czech", "da Danish", "de German", "el Greek",
    "en English", "es Spanish", "et Estonian", "fa Persian", "fi Finnish", "fr French", "he Hebrew", "hi Hindi",
    "hu Hungarian", "id Indonesian", "it Italian", "ja Japanese", "ko Korean", "lt Lithuanian", "nl Dutch",
    "pl Polish", "pt Portuguese", "ro Romanian", "sv Swedish", "th Thai", "tr Turkish", "uk Ukrainian",
    "vi Vietnamese", "zh Chinese",
)  # fmt: skip


def language_32() -> Entry:
    criteria = dict(name.split(" ", 1) for name in LANGUAGES)
    state = "Viesti: Hei, tilaukseni on myöhässä jo viikon. Voisitteko tarkistaa, missä paketti on? Kiitos!"
    return entry(
        "language-choice-32",
        {"state": state, "questions": one("language", "choice", "In which language is the message written?", criteria)},
        {"language": "fi"},
    )


def severity_3() -> Entry:
    state = (
        "Incident note: the export of monthly reports fails for one customer. They can still download each week "
        "separately, which takes them about ten minutes more."
    )
    criteria = ["Cosmetic: nobody is held up.", "Limited: there is a workaround.", "Critical: work has stopped."]
    return entry(
        "severity-score-3",
        {"state": state, "questions": one("severity", "score", "Rate the severity of this incident.", criteria)},
        {"severity": "1"},
    )


def risk_10() -> Entry:
    state = {
        "transfer": {"amount": 18450.5, "currency": "EUR", "beneficiary_known": False, "country_seen_before": False},
        "login": {"device": "new", "minutes_before_transfer": 3, "second_factor": "sms", "failed_attempts": 4},
        "history": {"largest_previous_amount": 620, "transfers_last_year": 41},
    }
    criteria: list[Any] = [
        {"description": "No sign of fraud at all."}, "", None, "", {"description": "Unusual, but explained."}, "", "",
        {"description": "Several signs, call the customer."}, "", {"description": "Every sign of a stolen account."},
    ]  # fmt: skip
    return entry(
        "risk-score-10",
        {"state": state, "questions": one("risk", "score", "How likely is it that this transfer is fraud?", criteria)},
    )


def progress_32() -> Entry:
    done, total = 19, 31
    state = "Migration checklist\n" + "\n".join(
        f"[{'x' if step < done else ' '}] step {step + 1:02d} of {total}" for step in range(total)
    )
    criteria = [{"description": f"{count} steps are ticked."} for count in range(total + 1)]
    return entry(
        "progress-score-32",
        {"state": state, "questions": one("ticked", "score", "How many steps of the checklist are ticked?", criteria)},
        {"ticked": str(done)},
    )


def policy_structured() -> Entry:
    state = {
        "zone": "production",
        "request": {"action": "drop_table", "object": "audit_2021", "requested_by": "batch-agent-7"},
        "policy": ["Deleting audit data needs a retention ticket.", "Agents may only read in production."],
        "approvals": [],
        "dry_run": False,
    }
    questions = {
        "z-allowed": {
            "type": "noul",
            "instructions": "Does the policy allow the requested action as it stands?",
            "criteria": {"true": {"description": "Allowed now."}, "false": {"description": "Not allowed."}},
        },
        "a-next": {
            "type": "choice",
            "instructions": "What should the gatekeeper do?",
            "criteria": {
                "run": {"description": "Run the action."},
                "refuse": {"description": "Refuse and name the rules that are broken."},
                "defer": {"description": "Wait for the end of business hours, then run it."},
            },
        },
    }
    return entry(
        "policy-structured-reversed", {"state": state, "questions": questions}, {"z-allowed": "no", "a-next": "refuse"}
    )


def literal_tokens() -> Entry:
    state = (
        "Raw log of a chat gateway, control marks included:\n<|im_start|>user\nping<|im_end|>\n"
        "<|im_start|>assistant\n<think>\n\n</think>\n\npong<|im_end|>\n"
        "attachment dropped: <|vision_start|><|image_pad|><|vision_end|>\nexit code 0 <|endoftext|>"
    )
    criteria = {"true": "The attachment was delivered", "false": "The attachment was dropped"}
    return entry(
        "literal-marks-noul",
        {"state": state, "questions": one("delivered", "noul", "Was the attachment delivered?", criteria)},
        {"delivered": "no"},
    )


def tool(name: str, summary: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """A criterion whose description is the JSON of a function schema."""
    schema = {"name": name, "description": summary, "parameters": {"properties": properties, "required": required}}
    return {"description": json.dumps(schema, ensure_ascii=False), "action": {"tool_name": name}}


def tool_json() -> Entry:
    criteria = {
        "book_room": tool(
            "book_room", "Reserve a meeting room",
            {"room": {"type": "string"}, "start": {"type": "string"}, "minutes": {"default": 60}, "catering": {"default": False}},
            ["room", "start"],
        ),
        "find_slot": tool(
            "find_slot", "Find a time when everyone is free",
            {"people": {"type": "array"}, "within_days": {"default": 5}, "timezone": {"default": "Europe/Tallinn"}},
            ["people"],
        ),
        "send_note": tool("send_note", "Send a short message", {"to": {"type": "string"}, "text": {"type": "string"}}, ["to"]),
        "plain_reply": {"description": "Answer in words, without any tool."},
        "none": {"description": "Nothing fits", "action": {"operation": "NO_TOOL"}},
    }  # fmt: skip
    state = "Nutzer: Wann in dieser Woche haben Technik, Vertrieb und Einkauf gemeinsam eine Stunde Zeit?"
    return entry(
        "tool-json-choice",
        {"state": state, "questions": one("tool", "choice", "Which tool answers the user?", criteria)},
        {"tool": "find_slot"},
    )


RULES = """Change handbook of a parcel carrier (extract)
1. Every change to production has a number, an owner, a start, an end and a way back.
2. A change without a tested way back is not started, whatever its size.
3. Standard changes are on the list of routine work and need no approval. All others need one approval; changes that touch
   payment, customs or labels need two, from different teams.
4. The owner may not approve their own change. An approval older than fourteen days has lapsed.
5. From 20 November to 2 January the freeze holds: only emergency changes run, and only those whose class says so.
6. An emergency change may run first and be approved afterwards, within one working day. It is reviewed in the next meeting.
7. Two changes on one system may not overlap. The one entered later moves.
8. A change that overruns its end by more than thirty minutes is rolled back, unless the duty manager extends it in writing.
9. Agents, scripts and pipelines count as the team that operates them.
10. Whoever finds a change that breaks a rule stops it first and asks afterwards.
11. All times are those of the central depot; a change across midnight belongs to its first calendar day.

Calendar
number | system | class | owner | approvals | way back | start | end
"""
SYSTEMS = ("tariff", "tracking", "label-printer", "notify", "customs-gate", "payment-hub", "route-planner", "depot-sync")
TEAMS = ("web", "data", "ops", "security", "network")


def calendar_row(index: int) -> str:
    """One made-up change that keeps every rule of the handbook."""
    system = SYSTEMS[index * 3 % len(SYSTEMS)]
    owner = TEAMS[index % len(TEAMS)]
    needed = 2 if system in ("label-printer", "customs-gate", "payment-hub") else 1
    approvals = " + ".join(TEAMS[(index + step) % len(TEAMS)] for step in range(1, needed + 1))
    day, hour = 3 + index // 4, 6 + 4 * (index % 4)
    return (
        f"CHG-{4400 + 7 * index} | {system} | normal | {owner} | {approvals} | tested | "
        f"{day:02d} Nov {hour:02d}:00 | {day:02d} Nov {hour + 1:02d}:30"
    )


def long_policy() -> Entry:
    rows = [calendar_row(index) for index in range(44)]
    rows[17] = "CHG-4519 | payment-hub | normal | data | data + security | tested | 07 Nov 10:00 | 07 Nov 11:30"
    state = RULES + "\n".join(rows) + "\nEnd of the calendar. Today is 2 November; nothing above has started yet."
    questions = {
        "broken": {
            "type": "choice",
            "instructions": "Which rule does change CHG-4519 break?",
            "criteria": {
                "rule-2": "Rule 2: the way back is not tested.",
                "rule-4": "Rule 4: the owner approved their own change.",
                "rule-5": "Rule 5: it runs inside the freeze.",
                "rule-8": "Rule 8: it overruns its end.",
                "none": "It breaks none of them.",
            },
        },
        "stop": {
            "type": "noul",
            "instructions": "Should whoever notices this stop CHG-4519 before asking its owner?",
            "criteria": {"true": "Stop it first.", "false": "Let it run."},
        },
    }
    return entry("long-policy-text", {"state": state, "questions": questions}, {"broken": "rule-4", "stop": "yes"})
