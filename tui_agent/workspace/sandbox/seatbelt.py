"""The macOS sandbox: a Seatbelt profile for `sandbox-exec`.

Invariant: this module is pure.

In a profile, a later rule overrides an earlier one.
"""

from collections.abc import Iterable

from tui_agent.workspace.sandbox.mounts import Mounts

PROGRAM = "/usr/bin/sandbox-exec"
_NETWORK_OFF = '(deny network*)\n(allow network* (local ip "localhost:*") (remote ip "localhost:*"))'
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/random", "/dev/urandom", "/dev/stdout", "/dev/stderr")


def build_profile(mounts: Mounts, private: str, *, network: bool) -> str:
    """Return the Seatbelt profile of one command, with the temporary folder `private`.

    Unlike on Linux, the command can see outside processes and connect to services on localhost.
    """
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny process-info* (target others))",
        "(deny signal (target others))",
        "(deny mach-priv* system-kext* system-privilege nvram*)",
        "(deny file-write*)",
        _rule("allow file-write*", (*mounts.writable_now, private)),
        _rule("allow file-write*", _DEVICES, "literal"),
        _rule("deny file-write*", mounts.read_only_paths),
        _rule("deny file-read* file-write*", [path.rstrip("/") for path in mounts.hidden]),
        _rule("deny file-read-data file-write*", [path.rstrip("/") for path in mounts.masked]),
        _rule("deny network-outbound", mounts.sockets, "literal"),
        "" if network else _NETWORK_OFF,
        _rule("allow file-read*", mounts.visible),
    ]
    return "\n".join(line for line in lines if line) + "\n"


def _rule(action: str, paths: Iterable[str], filter_kind: str = "subpath") -> str:
    filters = " ".join(f"({filter_kind} {_quote(path)})" for path in paths)
    return f"({action} {filters})" if filters else ""


def _quote(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
