"""`python -m kit.evidence.attack.limits BUNDLE`: `kit audit` in a process that may not take much.

Covers: a bound on address space, so that a bomb ends as an error here and not as a machine out of memory; the peak of
what was taken as the last line on standard error. The bound on time is the caller's (`runner`).
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from kit.evidence.auditing import run_audit

MEMORY = 2 << 30  # bytes of address space


def peak_bytes() -> int:
    """The most memory this process held. On Linux not from `getrusage`, whose figure begins with what the caller held."""
    import resource

    try:
        for line in Path("/proc/self/status").read_text(encoding="ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    except OSError:  # no such file on this system
        pass
    return (1 if sys.platform == "darwin" else 1024) * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> int:
    try:
        import resource
    except ImportError:  # no such limits on this system; the caller's bound on time is all there is
        return run_audit(sys.argv[1])
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, most))
    code = run_audit(sys.argv[1])
    print(json.dumps({"peak_bytes": peak_bytes()}), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
