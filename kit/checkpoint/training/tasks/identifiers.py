"""Identifiers as services have them: named in a sentence or in an alarm with hyphens, chosen by keys with underscores.

Covers: names of two or three parts that share their parts with the others', and a line that names one. Does not cover:
phrases of plain words (`match`).
"""

from __future__ import annotations

import random

from kit.checkpoint.training.samples import Split
from kit.checkpoint.training.tasks import prose
from kit.checkpoint.training.tasks.parts import Part
from kit.checkpoint.training.vocabulary import Wordings, code, invented, word

TAILS = Wordings(
    train=("relay", "sync", "gate", "store", "edge", "worker", "cache", "proxy", "queue", "index", "loader", "mailer", "router", "agent", "backup", "bridge", "export", "import", "watcher", "runner", "db", "api", "ui", "cron", "feed", "hook", "probe", "shard", "stream", "pool", "writer", "reader", "broker", "portal", "tunnel", "ledger"),
    calibration=("mirror", "daemon", "bot", "hub", "node"), held_out=("gateway", "service", "spooler", "resolver", "collector", "replica", "balancer", "sender", "archive"),
)  # fmt: skip
LINES = Wordings(
    train=("ALARM {name} does not answer", "{name} is down since {time}.", "{time} WARN {name}: queue is full", "Disk almost full on {name}.", "The on-call engineer restarted {name} at {time}.", "Errors in {name}, see ticket {ref}.", "{person} says that {name} is slow.", "[critical] {name} ran out of memory", "Please look at {name}, it has not moved since {time}.",
           "Pager: {name} (latency)", "ticket {ref}: {name} answers with 500", "{name} failed its health check {n} times.", "Deploy of {name} at {time} by {person}.", "alert={ref} target={name} state=firing", "We rolled {name} back.", "At {time} the monitor lost {name}.", "{person} asks whether {name} may be switched off.", "{n} jobs wait for {name}.",
           "CPU at {n} percent on {name}", "Something is wrong with {name}.", "The certificate of {name} runs out tonight.", "{time} {name} restarted", "{name} needs a new key, writes {person}.", "Since the release at {time} {name} drops messages.", "Mail from {person}: can you check {name}?"),
    calibration=("{name} has been silent since {time}.", "Alert {ref}: {name} is late"),
    held_out=("The alarm at {time} came from {name}.", "{name} lost its connection at {time}.", "Incident {ref} concerns {name}.", "{time} ERROR {name} timed out", "{person} reports trouble with {name}."),
)  # fmt: skip
ASK = Wordings(
    train=("Which service is meant?", "Which service does the alarm come from?", "Which one is named?", "Which service has the trouble?", "What is it about?", "Route this to the right service.", "Pick the service that the text names.", "Which of these must be looked at?", "Which service stands in the line?", "To which service does this belong?", "Find the service.",
           "Which component is it?", "Whose alarm is this?", "Assign it to a service.", "Name the service in question."),
    calibration=("Which service is spoken of?",), held_out=("Which service is affected?", "Which of the services does the message concern?", "What service is this about?"),
)  # fmt: skip
TEXTS = Wordings(
    train=("{name}", "{name}", "{name}", "{name}", "service {name}", "the {name} service", "{name} team", "owns {name}", "`{name}`", "all that concerns {name}", "{name} and nothing else"),
    calibration=("it is {name}",), held_out=("{name} itself", "problems of {name}"),
)  # fmt: skip


def part(rng: random.Random, split: Split, count: int) -> Part:
    """A line that names one of so many services."""
    names = _names(rng, split, count)
    at = rng.randrange(count)
    fields = {"person": word(rng, "person", split), "time": f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}", "ref": code(rng), "n": rng.randint(2, 99)}
    line = LINES.pick(rng, split, name=names[at], **fields)
    kind = rng.random()
    state: object = line
    if kind < 0.3:
        state = {rng.choice(("alarm", "alert", "line", "message", "log", "text")): line, rng.choice(("seen_at", "at", "time")): fields["time"], "ref": fields["ref"]}
    elif kind < 0.55:
        state = prose.around(rng, split, line, rng.randint(1, 4))
    said, described = rng.choice(TEXTS.of(split)), rng.random() < 0.4
    texts = [said.format(name=name) for name in names]
    criteria = {name.replace("-", "_"): {"description": text} if described else text for name, text in zip(names, texts, strict=True)}
    return Part(state, {"type": "choice", "instructions": ASK.pick(rng, split), "criteria": criteria}, at)


def _names(rng: random.Random, split: Split, count: int) -> list[str]:
    """Different names of parts that several of them share, none within another."""
    heads = [_head(rng, split) for _ in range(max(3, count // 2))]
    tails = rng.sample(TAILS.of(split), min(len(TAILS.of(split)), max(3, count // 3)))
    made: list[str] = []
    while len(made) < count:
        parts = [rng.choice(heads) if rng.random() < 0.8 else _head(rng, split), rng.choice(tails)]
        if rng.random() < 0.15:
            parts.insert(1, rng.choice(heads))
        name = "-".join(parts)
        if not any(name in other or other in name for other in made):
            made.append(name)
    return made


def _head(rng: random.Random, split: Split) -> str:
    kind = rng.random()
    return invented(rng, split, 1) if kind < 0.2 else word(rng, "noun", split) if kind < 0.5 else word(rng, "service", split)
