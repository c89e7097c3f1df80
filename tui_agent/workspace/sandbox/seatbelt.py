"""The macOS sandbox: a Seatbelt profile for `sandbox-exec`.

Invariant: pure. Later rules win; unlisted paths can be read but not written.
"""

from collections.abc import Iterable

from tui_agent.workspace.sandbox.mounts import Places

PROGRAM = "/usr/bin/sandbox-exec"
_NETWORK_OFF = '(deny network*)\n(allow network* (local ip "localhost:*") (remote ip "localhost:*"))'
_DEVICES = ("/dev/null", "/dev/zero", "/dev/tty", "/dev/random", "/dev/urandom", "/dev/stdout", "/dev/stderr")


def profile(found: Places, private: str, *, network: bool) -> str:
    """Return the profile of one command. `private` is its temporary folder.

    Unlike on Linux, outside processes are visible and services on localhost can be reached.
    """
    lines = [
        "(version 1)",
        "(allow default)",
        "(deny process-info* (target others))",
        "(deny signal (target others))",
        "(deny mach-priv* system-kext* system-privilege nvram*)",
        "(deny file-write*)",
        _rule("allow file-write*", (*found.written, private)),
        _rule("allow file-write*", _DEVICES, "literal"),
        _rule("deny file-write*", found.kept),
        _rule("deny file-read* file-write*", [path.rstrip("/") for path in found.hidden]),
        _rule("deny file-read-data file-write*", [path.rstrip("/") for path in found.masked]),
        _rule("deny network-outbound", found.sockets, "literal"),
        "" if network else _NETWORK_OFF,
        _rule("allow file-read*", found.shown),
    ]
    return "\n".join(line for line in lines if line) + "\n"


def arguments(found: Places, private: str, *, network: bool) -> list[str]:
    """Return everything before the command."""
    return [PROGRAM, "-p", profile(found, private, network=network)]


def _rule(action: str, paths: Iterable[str], filter_kind: str = "subpath") -> str:
    filters = " ".join(f"({filter_kind} {_quote(path)})" for path in paths)
    return f"({action} {filters})" if filters else ""


def _quote(path: str) -> str:
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
