"""A real headless browser that opens pages and says what it saw: sizes of images, widths, console lines.

Pages carry no script and allow none, so a small page of our own, served from this process beside them, holds each in a
frame, measures it from outside and leaves what it found in its own document, which the browser prints.
"""

from __future__ import annotations

import functools
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from tests.loopback import listening

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
SECONDS = 60
WATCHER = """<!doctype html><meta charset="utf-8"><iframe id="page" src="page.html" style="border:0;width:%dpx;height:800px"></iframe>
<pre id="seen"></pre><script>
document.getElementById("page").onload = function () {
  const page = this.contentDocument, root = page.documentElement
  const over = [...page.querySelectorAll("body *")].filter(e => !e.closest(".scroll,.skip,details:not([open]) > :not(summary),svg")
    && e.getBoundingClientRect().right > root.clientWidth + 1).map(e => e.tagName + ": " + e.textContent.slice(0, 60))
  document.getElementById("seen").textContent = JSON.stringify({
    images: [...page.images].map(i => [i.alt, i.complete, i.naturalWidth, i.naturalHeight]),
    headings: [...page.querySelectorAll("h2")].map(e => e.textContent),
    charts: [...page.querySelectorAll("svg")].map(e => [e.getBoundingClientRect().width, e.getBoundingClientRect().height]),
    width: root.clientWidth, wanted: root.scrollWidth, over: over,
    colours: [getComputedStyle(page.body).color, getComputedStyle(page.body).backgroundColor],
    height: root.scrollHeight, text: page.body.innerText.length})
}
</script>"""


@dataclass(frozen=True)
class Seen:
    """What the browser found on a page. console: lines it wrote there, of any page."""

    page: dict[str, Any]
    console: list[str]


def find() -> str | None:
    """A browser on this machine, None where there is none."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def look(page: str, width: int, browser: str, *, dark: bool = False) -> Seen:
    """Open a page in a frame of so many pixels and measure it."""
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as url:
        (Path(folder) / "page.html").write_text(page, encoding="utf-8")
        (Path(folder) / "index.html").write_text(WATCHER % width, encoding="utf-8")
        run = start(browser, Path(folder) / "profile", dark, "--dump-dom", f"--window-size={width + 60},900", f"{url}/index.html")
    found = re.search(r'<pre id="seen">(.*?)</pre>', run.stdout, re.DOTALL)
    if not found or not found.group(1):
        raise AssertionError(f"the browser measured nothing: {run.stderr[-800:]}")
    console = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
    return Seen(json.loads(html.unescape(found.group(1))), console)


def start(browser: str, profile: Path, dark: bool, *arguments: str) -> subprocess.CompletedProcess[str]:
    flags = [
        "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
        "--disable-background-networking", "--virtual-time-budget=20000", "--enable-logging=stderr", f"--user-data-dir={profile}",
    ]  # fmt: skip
    flags += ["--blink-settings=preferredColorScheme=0"] if dark else ["--blink-settings=preferredColorScheme=1"]
    environment = {name: value for name, value in os.environ.items() if "proxy" not in name.lower()}
    return subprocess.run(
        [browser, *flags, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False, env=environment
    )


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A folder over HTTP on a free loopback port."""
    with listening(functools.partial(Quiet, directory=str(folder)), ThreadingHTTPServer) as url:
        yield url


class Quiet(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/favicon.ico":  # the browser's own wish, and no fault of the page
            self.send_response(204)
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, *_: Any) -> None:
        pass
