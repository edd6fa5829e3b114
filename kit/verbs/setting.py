"""What verbs read before they begin: a profile made the setting of this process, and a request.

Does not cover: what a profile may say (`kit.profile`), or what is set (`kit.runtime`).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kit.profile import Profile


def configured(path: str) -> Profile:
    """The profile of a file, with threads, devices and switches of this process set as it says.

    Raises ProfileError, and RuntimeConflictError where the process is already set otherwise.
    """
    from kit import runtime
    from kit.profile import load_profile

    profile = load_profile(path)
    runtime.configure(profile)
    return profile


def on_device(path: str) -> Profile:
    """As `configured`, and the profile's device is there. Raises NoDeviceError too."""
    from kit import runtime

    profile = configured(path)
    runtime.require_device(profile)
    return profile


def read_request(path: Path) -> bytes:
    """Bytes of a request file, or of standard input for `-`."""
    return sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
