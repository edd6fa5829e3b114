"""Rebuild the frozen corpus: draw the screens, write the requests, list the checksums.

    python evidence/protocol-2/generate.py           compare with what is frozen; write only what does not exist
    python evidence/protocol-2/generate.py --force   replace what differs (another protocol: earlier claims keep theirs)

PNG files are compared pixel by pixel and JPEG and WebP by their mean error, since another Pillow packs the same picture
into other bytes; then the stored files stay. Frozen answers are not made here: they come from the reference engine, and
are removed by --force when a request changes.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path

import screen_questions as screens
import text_questions as text
from pictures import SCREENS, draw
from PIL import Image, ImageChops, ImageStat
from text_questions import Entry

from kit.campaign.protocol import CORPUS, ProtocolError, load_protocol, write_sums
from kit.evidence.records import write_atomic

FOLDER = Path(__file__).resolve().parent
ANSWERS = "reference*.json"  # of every checkpoint whose answers are frozen here
LOSSY_MEAN_ERROR = 4.0  # of 255, between a screen and its JPEG or WebP file
ENCODINGS = {
    ".png": ("PNG", {"optimize": True}),
    ".jpg": ("JPEG", {"quality": 88}),
    ".webp": ("WEBP", {"quality": 88, "method": 6}),
}


def entries(images: Mapping[str, bytes]) -> list[Entry]:
    """The 28 requests in order: kinds and counts are those of version 1, and so are the ids of the kinds they share."""
    return [
        text.route_2(), text.triage_3(), text.intent_10(), text.queue_26(), text.host_32(), text.severity_3(),
        text.risk_10(), text.gauge_32(), text.policy_structured(), text.literal_marks(), text.tool_json(),
        screens.console_256(images), screens.console_512(images), screens.images_2(images), screens.images_3(images),
        screens.images_4(images), screens.console_256_changed(images), screens.chart_384(images),
        text.route_2() | {"id": "route-choice-2-again"},
        screens.images_2_swapped(images), screens.long_incident(images),
        screens.console_256(images, "console-256x256-again"),
        text.long_policy(),
        screens.images_4_reversed(images), screens.waiting_room_jpeg(images), screens.sizes_interleaved(images),
        screens.phone_webp(images), screens.signal_data_url(images),
    ]  # fmt: skip


def encode(name: str) -> bytes:
    """The screen of a file name, packed by the Pillow at hand in the format of its suffix."""
    kind, options = ENCODINGS[Path(name).suffix]
    buffer = io.BytesIO()
    draw(name).save(buffer, kind, **options)
    return buffer.getvalue()


def shows(stored: bytes, name: str) -> bool:
    """Whether stored bytes show the screen: every pixel for PNG, closely for JPEG and WebP."""
    with Image.open(io.BytesIO(stored)) as image:
        found = image.convert("RGB")
    wanted = draw(name)
    if found.size != wanted.size:
        return False
    if name.endswith(".png"):
        return found.tobytes() == wanted.tobytes()
    return max(ImageStat.Stat(ImageChops.difference(found, wanted)).mean) < LOSSY_MEAN_ERROR


def rebuild(folder: Path) -> tuple[dict[str, bytes], list[str]]:
    """Everything this script writes, by relative name, and the names of what the folder holds otherwise."""
    files: dict[str, bytes] = {}
    for name in SCREENS:
        file = folder / "images" / name
        kept = file.exists() and shows(file.read_bytes(), name)
        files[f"images/{name}"] = file.read_bytes() if kept else encode(name)
    lines = (json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in entries({Path(k).name: v for k, v in files.items()}))
    files[CORPUS] = "".join(line + "\n" for line in lines).encode()
    differs = [name for name, data in files.items() if (folder / name).exists() and (folder / name).read_bytes() != data]
    return files, differs


def main(arguments: list[str] | None = None, folder: Path = FOLDER) -> int:
    """0: the folder holds what this script makes. 1: it holds something else, and was left alone."""
    parser = argparse.ArgumentParser(description="Rebuild or compare the frozen corpus.")
    parser.add_argument("--force", action="store_true", help="replace frozen files that differ")
    force = parser.parse_args(arguments).force
    files, differs = rebuild(folder)
    if differs and not force:
        print(f"refused: differs from what is frozen: {', '.join(differs)}; --force replaces it", file=sys.stderr)
        return 1
    (folder / "images").mkdir(parents=True, exist_ok=True)
    written = [name for name in files if name in differs or not (folder / name).exists()]
    for name in written:
        write_atomic(folder / name, files[name])
    for answers in sorted(folder.glob(ANSWERS)) if CORPUS in differs else ():
        answers.unlink()
        print(f"{answers.name} answered other requests and was removed; freeze the answers again")
    if force or written or not (folder / "SHA256SUMS").exists():
        write_sums(folder)
    try:
        protocol = load_protocol(folder)
    except ProtocolError as error:
        print(f"refused: {error}; --force lists the folder as it is", file=sys.stderr)
        return 1
    questions = sum(len(case.questions) for case in protocol.cases)
    print(f"{len(protocol.cases)} requests, {questions} questions, {len(written)} files written, {protocol.sha256}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
