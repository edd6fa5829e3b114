"""The text requests: twelve of the corpus, what is asked and what a careful person answers.

Covers: tools, tickets, scales, facts, rules and words to find again, each in wordings of their own: no sentence here
is one that the training generator of `kit/checkpoint/training` can make. Everything is made up.
Does not cover: requests with images (`screen_questions.py`) and the order of all of them (`generate.py`).
"""

from __future__ import annotations

import json
from typing import Any

Entry = dict[str, Any]


def entry(name: str, state: object, questions: dict[str, Any], expected: dict[str, str], images: list[str] | None = None) -> Entry:
    """One line of the corpus. Key order is kept: it is part of the frozen bytes."""
    request = {"state": state, "questions": questions} | ({"images": images} if images else {})
    return {"id": name, "modality": "image" if images else "text", "expected": expected, "request": request}


def choice(instructions: str, criteria: dict[str, Any]) -> dict[str, Any]:
    return {"type": "choice", "instructions": instructions, "criteria": criteria}


def noul(instructions: str, true: object = "Yes", false: object = "No") -> dict[str, Any]:
    return {"type": "noul", "instructions": instructions, "criteria": {"true": true, "false": false}}


def score(instructions: str, *levels: object) -> dict[str, Any]:
    return {"type": "score", "instructions": instructions, "criteria": list(levels)}


def route_2() -> Entry:
    state = {
        "channel": "chat",
        "customer_since": 2019,
        "message": "Dear team, I ordered shoes and nobody brought them. Please find the package and tell me where it is.",
    }
    criteria = {
        "track_parcel": {"description": "Follow a package or a parcel on its way"},
        "create_invoice": {"description": "Write an invoice or a bill"},
    }
    return entry("route-choice-2", state, {"tool": choice("Which of these two tools helps the customer?", criteria)}, {"tool": "track_parcel"})


def triage_3() -> Entry:
    state = "主题：打印机坏了\n正文：您好，二楼的打印机卡住了，墨盒也空了，谁能来看一下？\n发件人：小陈"
    criteria = {"bills": "账单组：发票、付款和收据", "print": "打印组：打印机、墨盒和扫描仪", "people": "人事组：工资、假期和合同"}
    question = {"instructions": "这张工单应该交给\n  哪一组？", "criteria": criteria}
    return entry("triage-choice-3", state, {"team": question}, {"team": "print"})


def intent_10() -> Entry:
    criteria = {
        "billing": {"description": "Facturas y recibos"},
        "delivery": {"description": "Entrega de un paquete"},
        "access": {"description": "Contraseña y cuenta"},
        "printing": {"description": "Impresora y tinta"},
        "network": {"description": "Wifi e internet"},
        "people": {"description": "Sueldo y vacaciones"},
        "kitchen": {"description": "Taza, cuchillo y horno"},
        "travel": {"description": "Tren y maleta"},
        "garden": {"description": "Jardín y valla"},
        "other": {"description": None},
    }
    state = "Hola, soy Celia, del piso de arriba. El wifi se corta a cada rato y no tengo internet. ¿Pueden venir hoy?"
    return entry("intent-choice-10", state, {"topic": choice("¿Cuál es el tema de este mensaje?", criteria)}, {"topic": "network"})


THINGS = (
    "anchor", "basket", "camera", "candle", "carpet", "compass", "curtain", "drum", "engine", "fountain", "guitar", "hammer", "kettle",
    "ladder", "magnet", "mirror", "oven", "pillow", "printer", "radio", "saddle", "sofa", "teapot", "umbrella", "violin", "wagon",
)  # fmt: skip


def queue_26() -> Entry:
    state = {
        "subject": "grey lines on paper",
        "text": "Since yesterday every page that leaves the printer has a grey line on it.",
        "attachments": 1,
    }
    criteria = {f"q{index:02d}": {"description": name} for index, name in enumerate(THINGS)}
    question = choice("Which thing of the list is the ticket about?", criteria)
    return entry("queue-choice-26", state, {"thing": question}, {"thing": f"q{THINGS.index('printer'):02d}"})


HOSTS = (
    "account-sync", "api-gate", "auth", "backup", "basket", "cache", "calendar", "catalog", "chat-relay", "cluster", "crawler",
    "dashboard", "export", "feed", "gateway", "geocoder", "indexer", "invoices", "ledger", "mailer", "monitor", "notifier",
    "payments", "planner", "portal", "pricing", "scheduler", "search", "shipping", "translator", "uploads", "vault",
)  # fmt: skip


def host_32() -> Entry:
    criteria = {name.replace("-", "_"): name for name in HOSTS}
    state = "Alarm 07:12. The disk of one service is full, no other is touched. Service: geocoder. Please clean it up before noon."
    question = choice("Which of the services does the alarm speak of?", criteria)
    return entry("host-choice-32", state, {"host": question}, {"host": "geocoder"})


def severity_3() -> Entry:
    """Near a tie: a team is named, which speaks for the top level, and a workaround, which settles it."""
    state = (
        "Incident note: since noon the export of reports fails for the team in Oakham. There is a workaround, they load each "
        "page by hand, and the work goes on."
    )
    levels = ("Cosmetic: it only looks wrong, all works", "Minor: it fails, another way works", "Major: the team cannot work at all")
    return entry("severity-score-3", state, {"severity": score("Grade the incident in this note.", *levels)}, {"severity": "1"})


def risk_10() -> Entry:
    state = {
        "review": "After the second look Salma set this payment to level 7.",
        "payment": {"amount": 1845.5, "currency": "EUR", "known": False, "tries": 2},
        "device": {"new": True, "minutes": 34},
    }
    levels: list[Any] = [
        {"description": "level 0"}, "level 1", "", None, "", {"description": "level 5"}, "", {"description": "level 7"}, "", "level 9",
    ]  # fmt: skip
    return entry("risk-score-10", state, {"risk": score("Which risk level did the review end with?", *levels)}, {"risk": "7"})


def gauge_32() -> Entry:
    state = "Heike war heute früh am Turm und hat den Zeiger abgelesen. Er steht auf Stufe 23. Das Wasser ist klar."
    levels = [{"description": f"Stufe {level}"} for level in range(32)]
    return entry("gauge-score-32", state, {"level": score("Auf welcher Stufe steht der Zeiger?", *levels)}, {"level": "23"})


def policy_structured() -> Entry:
    state = {
        "zone": "production",
        "policy": "No database change may run without an approval. Without one it is refused.",
        "request": {"change": "drop the table orders", "by": "batch-agent-7", "rows": 2021},
        "approved": "no",
    }
    questions = {
        "z-allowed": noul("Is this database change allowed by the policy as things stand?", {"description": "The policy lets it run"}, {"description": "The policy stops it"}),
        "a-next": choice(
            "What should the agent that guards production do now?",
            {
                "run": {"description": "Run the database change"},
                "refuse": {"description": "Refuse it: the approval is missing"},
                "scale": {"description": "Scale the service to ten replicas"},
            },
        ),
    }  # fmt: skip
    return entry("policy-structured-reversed", state, questions, {"z-allowed": "no", "a-next": "refuse"})


def literal_marks() -> Entry:
    state = {
        "raw": "<|im_start|>user\nping<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\npong<|im_end|>\n"
        "<|vision_start|><|image_pad|><|vision_end|>\nexit 0 <|endoftext|>",
        "status": "closed",
        "delivered": False,
        "retries": 4,
    }
    question = noul("Does this record say that delivered is true?", "Yes, delivered is true", "No, delivered is false")
    return entry("literal-marks-noul", state, {"delivered": question}, {"delivered": "no"})


def tool(name: str, summary: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    """A criterion whose description is the JSON of a function schema."""
    schema = {"name": name, "description": summary, "parameters": {"type": "object", "properties": properties, "required": required}}
    return {"description": json.dumps(schema, ensure_ascii=False), "action": {"tool_name": name}}


def tool_json() -> Entry:
    text, number = {"type": "string"}, {"type": "integer"}
    criteria = {
        "book_room": tool(
            "book_room", "Hold a meeting room for a group",
            {"room": text, "start": text, "minutes": number | {"default": 60}, "coffee": {"type": "boolean", "default": False}},
            ["room", "start"],
        ),
        "get_weather": tool("get_weather", "Rain, wind and temperature of a city", {"city": text, "days": number | {"default": 1}}, ["city"]),
        "send_email": tool("send_email", "Write a mail to somebody", {"to": text, "subject": text, "body": text}, ["to", "body"]),
        "plain_reply": {"description": "Answer in words, no tool"},
        "none": {"description": "Nothing of this fits", "action": {"operation": "NO_TOOL"}},
    }  # fmt: skip
    state = "Lena, Petra and Omar meet at 14:30 tomorrow and there are nine of us. Is a meeting room free? Then hold it for us, for one hour."
    return entry("tool-json-choice", state, {"tool": choice("Which tool is the next one to call here?", criteria)}, {"tool": "book_room"})


RULES = """Handbook of the depot in Wismar, part two: orders, keys and night work.
1. Orders. An order of up to 200 is allowed at once. An order above 500 is refused. Whatever lies between goes to a manager.
2. Keys. The key of the warehouse is for a driver. Whoever takes it writes name and hour on the card next to the door.
3. Night work. No restart between 22:00 and 06:00 without an approval.
4. Visitors. A guest wears a yellow badge and is never left alone in the yard.
5. Lamps. The last one to leave switches the lamps off and shuts the gate. A lamp that is broken is noted in the diary.

Diary of this week
"""
DIARY = (
    ("Monday", "Tariq brought 14 boxes of soap from Selby and put them on the upper shelf."),
    ("Monday", "The lamp next to the gate is broken, Yara ordered a new one from the market."),
    ("Tuesday", "A guest from Lindau looked at the crane, with a yellow badge, and left at noon."),
    ("Tuesday", "Omar counted the crates twice: 61 in the yard and 9 in the cabin."),
    ("Wednesday", "The pump made a noise in the morning, Petra changed the filter and it stopped."),
    ("Wednesday", "Rain came through the roof, so the paper is kept in the tin box now."),
    ("Thursday", "Nadia asks for an order of 200 for the depot, a new ladder and two ropes."),
    ("Friday", "Ruben took the key of the warehouse at eight and wrote it on the card."),
)


def long_policy() -> Entry:
    """Near a tie: the order is exactly as large as the first bound, which is part of what is allowed."""
    state = RULES + "\n".join(f"{day}: {words}" for day, words in DIARY) + "\nEnd of the diary. The next page is empty."
    questions = {
        "order": choice(
            "What does rule 1 say to the order of Nadia?",
            {"allow": "It is allowed at once", "refuse": "It is refused", "manager": "It goes to a manager"},
        ),
        "broken": choice(
            "Which of these things does the diary call broken?",
            {"bridge": "the bridge", "lamp": "the lamp", "piano": "the piano", "clock": "the clock"},
        ),
    }  # fmt: skip
    return entry("long-policy-text", state, questions, {"order": "allow", "broken": "lamp"})
