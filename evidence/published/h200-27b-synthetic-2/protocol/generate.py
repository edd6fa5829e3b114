"""Rebuild the frozen corpus: draw the screens, write the requests, list the checksums.

    python evidence/protocol/generate.py           compare with what is frozen; write only what does not exist
    python evidence/protocol/generate.py --force   replace what differs (a new protocol: earlier claims keep the old)

The same Pillow gives the same bytes. Another Pillow may pack the same pixels differently; then the stored files
stay as they are and the corpus is built from them. Frozen answers (reference.json) are not made here: they come
from the reference engine, and are dropped by --force when a request changes.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import image_requests as with_images
import text_requests as text
from PIL import Image, ImageChops, ImageStat, __version__
from screens import SCREENS, draw
from text_requests import Entry

from kit.campaign.protocol import CORPUS, ProtocolError, load_protocol, write_sums
from kit.evidence.records import write_atomic

FOLDER = Path(__file__).resolve().parent
ANSWERS = "reference*.json"  # of every checkpoint whose answers are frozen here
IMAGES = "images"
LOSSY_MEAN_ERROR = 4.0  # of 255, between a screen and its JPEG or WebP file
ENCODINGS = {
    ".png": ("PNG", {"optimize": True}),
    ".jpg": ("JPEG", {"quality": 80}),
    ".webp": ("WEBP", {"quality": 80, "method": 6}),
}


def entries(images: Mapping[str, bytes]) -> list[Entry]:
    """The 28 requests in order: 16 in the shape of the earlier corpus, then 12 extensions.

    The extensions alternate small and large prompts, so that graph caches grow their scratch, drop entries
    and meet known shapes again; two of them repeat an earlier request under another id.
    """
    again_text = text.route_2() | {"id": "route-choice-2-again"}
    earlier_text: list[Callable[[], Entry]] = [
        text.route_2, text.triage_3, text.intent_10, text.queue_26, text.language_32, text.severity_3, text.risk_10,
        text.progress_32, text.policy_structured, text.literal_tokens, text.tool_json,
    ]  # fmt: skip
    earlier_images = [
        with_images.console_256, with_images.console_512, with_images.images_2, with_images.images_3, with_images.images_4,
    ]  # fmt: skip
    return [
        *(make() for make in earlier_text),
        *(make(images) for make in earlier_images),
        with_images.console_256_changed(images),
        with_images.dashboard(images),
        again_text,
        with_images.images_2_swapped(images),
        with_images.long_incident(images),
        with_images.console_256(images, "console-256x256-again"),
        text.long_policy(),
        with_images.images_4_reversed(images),
        with_images.waiting_room_jpeg(images),
        with_images.sizes_interleaved(images),
        with_images.phone_webp(images),
        with_images.signal_data_url(images),
    ]


def build_corpus(images: Mapping[str, bytes]) -> bytes:
    """corpus.jsonl, one compact line a request. `images`: encoded bytes by file name."""
    lines = (json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in entries(images))
    return "".join(line + "\n" for line in lines).encode()


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


def rebuild(folder: Path = FOLDER) -> tuple[dict[str, bytes], list[str], list[str]]:
    """Everything the generator writes by relative name, what of it differs from the folder, and notes."""
    differs: list[str] = []
    notes: list[str] = []
    images: dict[str, bytes] = {}
    for name in SCREENS:
        file = folder / IMAGES / name
        stored, fresh = file.read_bytes() if file.exists() else None, encode(name)
        if stored is not None and stored != fresh and shows(stored, name):
            notes.append(f"{IMAGES}/{name}: Pillow {__version__} packs the same screen differently; stored file kept")
            fresh = stored
        elif stored is not None and stored != fresh:
            differs.append(f"{IMAGES}/{name}")
        images[name] = fresh
    files = {f"{IMAGES}/{name}": data for name, data in images.items()}
    files[CORPUS] = build_corpus(images)
    corpus = folder / CORPUS
    if corpus.exists() and corpus.read_bytes() != files[CORPUS]:
        differs.append(CORPUS)
    return files, differs, notes


def main(arguments: list[str] | None = None, folder: Path = FOLDER) -> int:
    """0: the folder holds what this script makes. 1: it holds something else, and was left alone."""
    parser = argparse.ArgumentParser(description="Rebuild or compare the frozen corpus.")
    parser.add_argument("--force", action="store_true", help="replace frozen files that differ")
    options = parser.parse_args(arguments)
    files, differs, notes = rebuild(folder)
    for note in notes:
        print(note)
    if differs and not options.force:
        print(f"refused: differs from what is frozen: {', '.join(differs)}; --force replaces it", file=sys.stderr)
        return 1
    (folder / IMAGES).mkdir(parents=True, exist_ok=True)
    written = [name for name, data in files.items() if not (folder / name).exists() or name in differs]
    for name in written:
        write_atomic(folder / name, files[name])
    for answers in sorted(folder.glob(ANSWERS)) if CORPUS in differs else ():
        answers.unlink()
        print(f"{answers.name} answered other requests and was removed; freeze the answers again")
    try:
        protocol = load_protocol(folder) if (folder / "SHA256SUMS").exists() and not written else None
    except ProtocolError as error:
        if not options.force:
            print(f"refused: {error}; --force lists the folder as it is", file=sys.stderr)
            return 1
        protocol = None
    if protocol is None:
        write_sums(folder)
        protocol = load_protocol(folder)
    questions = sum(len(case.questions) for case in protocol.cases)
    print(f"{len(protocol.cases)} requests, {questions} questions, {len(written)} files written, {protocol.sha256}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
