"""The screens of the protocol: consoles, forms, dialogs, gauges, a dashboard.

Covers: one function a kind of screen, and `SCREENS`, the table from file name to picture. Everything is made
up: services, hosts, shops and figures exist nowhere. Does not cover: what is asked about them
(`image_requests.py`).
"""

from __future__ import annotations

from collections.abc import Callable

from canvas import (
    AMBER,
    BLUE,
    GREEN,
    GREY,
    INK,
    LINE,
    MUTED,
    NIGHT,
    PAGE,
    PALE_AMBER,
    PALE_GREEN,
    PALE_RED,
    PAPER,
    RED,
    Canvas,
    Colour,
)
from PIL import Image


def deploy_console(healthy: bool) -> Canvas:
    """256 x 256: one service after a release, either crash-looping or well; only the status differs."""
    page = Canvas(256, 256)
    page.window("deploy console")
    page.text(10, 28, "basket-api", INK, 2)
    page.text(10, 54, "release 7.3.1  eu-north", MUTED)
    if healthy:
        page.pill(176, 32, "HEALTHY", GREEN)
    else:
        page.pill(182, 32, "FAILED", RED)
    page.card(8, 72, 240, 40)
    page.text(16, 78, "replicas ready", MUTED)
    page.text(16, 93, "4 / 4" if healthy else "0 / 4", GREEN if healthy else RED)
    page.meter(70, 93, 168, 11, 100 if healthy else 2, GREEN if healthy else RED)
    page.box(8, 118, 240, 98, NIGHT)
    lines = ["10:41:02 pull image ok", "10:41:09 start worker 1", "10:41:10 start worker 2"]
    for row, line in enumerate(lines):
        page.text(14, 124 + 15 * row, line, (190, 198, 208))
    last = (
        (["10:41:14 probe /ready 200", "10:41:14 probe /ready 200", "10:41:15 rollout complete"], (126, 214, 150))
        if healthy
        else (["10:41:14 exit 1: no schema", "10:41:15 exit 1: no schema", "10:41:16 back-off 40s"], (255, 138, 128))
    )
    for row, line in enumerate(last[0], len(lines)):
        page.text(14, 124 + 15 * row, line, last[1])
    x = page.button(8, 226, "Roll back", PAPER if healthy else RED, INK if healthy else PAPER)
    x = page.button(x, 226, "View logs")
    page.button(x, 226, "Scale")
    return page


def pipeline() -> Canvas:
    """512 x 256: a release pipeline whose last stage waits for a person."""
    page = Canvas(512, 256)
    page.window("release pipeline  #2094  branch main")
    stages = [("Build", "2m 11s", GREEN), ("Unit", "4m 50s", GREEN), ("Scan", "0m 38s", GREEN), ("Deploy", "waiting", AMBER)]
    for index, (name, note, colour) in enumerate(stages):
        x = 14 + 124 * index
        page.card(x, 34, 110, 58)
        page.box(x, 34, 110, 5, colour)
        page.text(x + 10, 48, name, INK, 2)
        page.text(x + 10, 75, note, MUTED)
        if index < 3:
            page.box(x + 110, 62, 14, 3, GREY)
    page.box(14, 102, 484, 24, PALE_AMBER, AMBER)
    page.text(24, 109, "Deploy to production needs approval by a second maintainer.", INK)
    page.card(14, 134, 484, 78)
    for row, (left, middle, right) in enumerate(
        [("check", "result", "owner"), ("migrations", "none pending", "data"), ("smoke test", "18 of 18 passed", "web"),
         ("change window", "open until 17:00", "ops")]
    ):  # fmt: skip
        colour = MUTED if row == 0 else INK
        page.text(24, 141 + 17 * row, left, colour)
        page.text(180, 141 + 17 * row, middle, colour)
        page.text(400, 141 + 17 * row, right, colour)
        page.box(22, 155 + 17 * row, 468, 1, LINE)
    x = page.button(14, 222, "Approve deploy", GREEN, PAPER)
    x = page.button(x, 222, "Reject")
    x = page.button(x, 222, "Open logs")
    page.button(x, 222, "Re-run scan")
    return page


def address_form(saved: bool) -> Canvas:
    """256 x 256: a delivery form, once with a field marked wrong, once saved."""
    page = Canvas(256, 256)
    page.window("delivery address", BLUE)
    fields = [("Street", "Birkenallee 14"), ("Postcode", "4O21" if not saved else "4021"), ("City", "Ostheim")]
    for row, (label, value) in enumerate(fields):
        y = 30 + 48 * row
        wrong = label == "Postcode" and not saved
        page.text(12, y, label, RED if wrong else MUTED)
        page.box(12, y + 13, 232, 22, PALE_RED if wrong else PAPER, RED if wrong else LINE)
        page.text(20, y + 19, value, INK)
        if wrong:
            page.text(96, y, "digits only, please", RED)
    if saved:
        page.box(12, 178, 232, 28, PALE_GREEN, GREEN)
        page.text(22, 187, "Saved. Next delivery: Tuesday", GREEN)
    else:
        page.box(12, 178, 232, 28, PALE_RED, RED)
        page.text(22, 187, "1 field needs your attention", RED)
    x = page.button(12, 222, "Save", GREY if saved else BLUE, PAPER, 70)
    page.button(x, 222, "Cancel", width=70)
    return page


def disk_gauge(host: str, percent: int, width: int) -> Canvas:
    """256 pixels high: how full one host's disk is."""
    colour = RED if percent >= 90 else AMBER if percent >= 70 else GREEN
    page = Canvas(width, 256)
    page.window("storage")
    page.text(12, 30, host, INK, 2)
    page.text(12, 58, "volume /var/data", MUTED)
    page.card(12, 76, width - 24, 92)
    page.text(24, 88, f"{percent}%", colour, 4)
    page.text(130, 96, "used", MUTED)
    page.text(130, 112, f"{percent * 8} GB", INK)
    page.text(130, 126, "of 800 GB", MUTED)
    page.meter(24, 144, width - 48, 14, percent, colour)
    page.text(12, 180, "growth per day", MUTED)
    for day, height in enumerate((9, 14, 7, 18, 12, 20, 16)):
        page.box(12 + 22 * day, 216 - height, 16, height, BLUE)
    page.box(12, 217, width - 24, 1, LINE)
    page.button(12, 226, "Clean up")
    return page


def dialog(
    size: tuple[int, int], title: str, lines: list[str], colour: Colour, primary: tuple[str, Colour], other: str
) -> Canvas:
    """A message box over a greyed page."""
    width, height = size
    page = Canvas(width, height, (176, 182, 192))
    left, top, inner = 16, 20, width - 32
    page.box(left + 4, top + 4, inner, height - 44, (146, 152, 162))
    page.box(left, top, inner, height - 44, PAPER, LINE)
    page.box(left, top, inner, 26, colour)
    page.disc(left + 15, top + 13, 8, PAPER)
    page.text(left + 13, top + 8, "?" if title.endswith("?") else "!", colour)
    page.text(left + 32, top + 8, title, PAPER)
    for row, line in enumerate(lines):
        page.text(left + 14, top + 40 + 17 * row, line)
    y = height - 58
    x = page.button(left + 14, y, primary[0], primary[1], PAPER)
    page.button(x, y, other)
    return page


def dashboard() -> Canvas:
    """768 x 512: an operations dashboard with figures, a chart and a table of services."""
    page = Canvas(768, 512)
    page.window("operations overview  -  Kestrel Parcel  -  last 24 hours")
    page.box(0, 20, 120, 492, (36, 42, 52))
    for row, name in enumerate(["Overview", "Services", "Queues", "Incidents", "Releases", "Settings"]):
        if row == 0:
            page.box(0, 36, 120, 26, BLUE)
        page.text(16, 44 + 30 * row, name, PAPER if row == 0 else (176, 184, 196))
    figures = [("requests", "1.84 M", INK), ("error rate", "0.3 %", GREEN), ("p95 latency", "912 ms", RED), ("queue", "46", AMBER)]
    for index, (name, value, colour) in enumerate(figures):
        x = 136 + 156 * index
        page.card(x, 34, 146, 72, name)
        page.text(x + 8, 62, value, colour, 3)
    page.card(136, 118, 302, 180, "p95 latency by hour, ms")
    for hour in range(24):
        value = 34 + (hour * 7) % 11 + (hour // 3) * 2 if hour < 18 else 70 + (hour - 18) * 12
        page.box(146 + 12 * hour, 286 - value, 9, value, RED if hour >= 18 else BLUE)
    page.box(144, 287, 286, 1, GREY)
    page.box(144, 216, 286, 1, AMBER)
    page.text(146, 203, "limit 500", AMBER)
    page.card(450, 118, 302, 180, "incidents")
    for row, (colour, words) in enumerate(
        [(RED, "18:05 label-printer: slow"), (AMBER, "17:40 sorter queue rising"), (GREEN, "09:12 tariff sync done"),
         (GREEN, "06:30 night batch done")]
    ):  # fmt: skip
        page.disc(466, 150 + 34 * row, 5, colour)
        page.text(480, 145 + 34 * row, words)
    page.card(136, 306, 616, 160, "services")
    table = [
        ("name", "version", "replicas", "p95", "status"), ("tariff", "5.0.2", "3 / 3", "84 ms", "ok"),
        ("tracking", "2.19.0", "6 / 6", "131 ms", "ok"), ("label-printer", "1.7.4", "3 / 5", "912 ms", "degraded"),
        ("notify", "3.3.3", "2 / 2", "97 ms", "ok"),
    ]  # fmt: skip
    for row, cells in enumerate(table):
        y = 336 + 25 * row
        page.box(144, y + 16, 600, 1, LINE)
        for x, cell in zip((150, 290, 400, 510, 640), cells, strict=True):
            page.text(x, y, cell, MUTED if row == 0 else RED if cell == "degraded" else INK)
        if row:
            page.disc(628, y + 5, 4, RED if cells[-1] == "degraded" else GREEN)
    x = page.button(136, 478, "Open incident", BLUE, PAPER)
    x = page.button(x, 478, "Restart label-printer")
    x = page.button(x, 478, "Silence 30 min")
    page.button(x, 478, "Export")
    return page


def settings() -> Canvas:
    """512 x 512: notification settings, some switches on and some off."""
    page = Canvas(512, 512)
    page.window("settings / notifications")
    page.text(20, 34, "Alerting", INK, 2)
    page.text(20, 62, "Who is told, and when. Changes apply at once.", MUTED)
    rows = [
        ("Page the on-call person", "severity 1 and 2", True), ("Mail the team list", "every severity", True),
        ("Post to the status page", "after confirmation", False), ("Quiet hours", "22:00 to 06:00", False),
        ("Auto-close when recovered", "after 30 minutes", True),
    ]  # fmt: skip
    for row, (name, note, on) in enumerate(rows):
        y = 84 + 62 * row
        page.card(20, y, 472, 52)
        page.text(34, y + 12, name)
        page.text(34, y + 29, note, MUTED)
        page.switch(444, y + 19, on)
    page.text(20, 404, "Escalate to", MUTED)
    page.box(20, 418, 300, 24, PAPER, LINE)
    page.text(30, 425, "duty-manager-nights")
    page.text(300, 425, "v", MUTED)
    x = page.button(20, 466, "Save changes", BLUE, PAPER)
    x = page.button(x, 466, "Send test alert")
    page.button(x, 466, "Discard")
    return page


def waiting_room() -> Canvas:
    """500 x 333, saved as JPEG: a queue display on a shaded wall."""
    page = Canvas(500, 333)
    for y in range(333):
        shade = 150 + y * 70 // 332
        page.box(0, y, 500, 1, (shade - 20, shade - 8, shade))
    page.box(38, 30, 424, 272, (58, 50, 44))
    page.box(48, 40, 404, 252, (10, 24, 62))
    page.centred(48, 54, 404, "Bürgerbüro  -  now serving", (240, 220, 120), 2)
    page.centred(48, 96, 404, "B 047", (255, 255, 255), 7)
    page.centred(48, 186, 404, "counter 3", (150, 230, 160), 3)
    page.box(68, 230, 364, 2, (90, 110, 160))
    page.text(76, 244, "next: B 048   B 049   C 012", (210, 216, 230), 2)
    page.text(76, 272, "waiting time about 25 minutes", (170, 180, 205))
    return page


def phone_prompt() -> Canvas:
    """320 x 480, saved as WebP: a phone asking for a permission."""
    page = Canvas(320, 480, (214, 226, 238))
    page.box(0, 0, 320, 24, NIGHT)
    page.text(14, 7, "09:26", PAPER)
    page.text(262, 7, "82 %", PAPER)
    for row in range(7):
        page.box(20, 48 + 58 * row, 280, 44, (230, 237, 244))
        page.disc(44, 70 + 58 * row, 12, (188, 204, 220))
    page.box(22, 130, 276, 238, PAPER, LINE)
    page.disc(160, 164, 18, BLUE)
    page.disc(160, 164, 7, PAPER)
    page.centred(22, 192, 276, "Allow Trailbook to use", INK)
    page.centred(22, 208, 276, "your location?", INK)
    page.centred(22, 230, 276, "It is needed to record a hike.", MUTED)
    choices = [("While using the app", BLUE, PAPER), ("Only this time", PAPER, INK), ("Don't allow", PAPER, INK)]
    for row, (words, fill, ink) in enumerate(choices):
        page.button(40, 258 + 34 * row, words, fill, ink, 240, 28)
    return page


def signal_light(colour: Colour) -> Canvas:
    """64 x 64: three lamps, one lit."""
    page = Canvas(64, 64, (236, 238, 242))
    page.box(19, 2, 26, 60, (40, 44, 50))
    for row, lamp in enumerate((RED, AMBER, GREEN)):
        page.disc(32, 12 + 20 * row, 8, lamp if lamp == colour else (78, 82, 88))
    return page


def switch_tile(on: bool) -> Canvas:
    """96 x 64: one labelled switch."""
    page = Canvas(96, 64, PAGE)
    page.box(2, 2, 92, 60, PAPER, LINE)
    page.text(12, 10, "Maintenance", INK)
    page.switch(20, 28, on, 2)
    return page


SCREENS: dict[str, Callable[[], Canvas]] = {
    "deploy-failed.png": lambda: deploy_console(healthy=False),
    "deploy-healthy.png": lambda: deploy_console(healthy=True),
    "pipeline.png": pipeline,
    "form-error.png": lambda: address_form(saved=False),
    "form-saved.png": lambda: address_form(saved=True),
    "disk-fjord.png": lambda: disk_gauge("fjord-1", 42, 256),
    "disk-delta.png": lambda: disk_gauge("delta-4", 71, 320),
    "disk-gorge.png": lambda: disk_gauge("gorge-2", 96, 384),
    "dialog-update.png": lambda: dialog(
        (320, 224), "Update ready", ["Version 12.4 was downloaded.", "Restart now to install it?", "Takes about 2 minutes."],
        BLUE, ("Restart", BLUE), "Later",
    ),
    "dialog-unsaved.png": lambda: dialog(
        (256, 256), "Unsaved changes", ["draft-offer.odt has", "changes that were", "not saved yet."],
        AMBER, ("Save", BLUE), "Discard",
    ),
    "dialog-declined.png": lambda: dialog(
        (352, 192), "Payment declined", ["The card ending in 0000 was refused by", "its bank. Nothing was charged."],
        RED, ("Other card", BLUE), "Cancel",
    ),
    "dialog-delete.png": lambda: dialog(
        (288, 240), "Delete project?", ["All 218 files of 'lagoon'", "will be removed.", "This cannot be undone."],
        GREY, ("Delete", RED), "Keep",
    ),
    "dashboard.png": dashboard,
    "settings.png": settings,
    "waiting-room.jpg": waiting_room,
    "phone-prompt.webp": phone_prompt,
    "signal-red.png": lambda: signal_light(RED),
    "switch-on.png": lambda: switch_tile(on=True),
}  # fmt: skip


def draw(name: str) -> Image.Image:
    """The picture of a file name, RGB."""
    return SCREENS[name]().image
