"""L3: what `dirname` and `basename` print, told from their words.

Invariant: pure; where a word is a home or the folder itself, what is printed depends on where that lies, and is not
certain.
"""

import posixpath
from collections.abc import Sequence

from tui_agent.policy.shell.script import Word

_LOOSE = frozenset(" \t\n*?[\\")
"""What bash would part or expand where the output stands without quotes."""


def part_of_path(words: Sequence[Word], *, quoted: bool) -> tuple[str, ...] | None:
    """All that `dirname PATH` or `basename PATH [SUFFIX]` can print; None where that is not certain."""
    name = words[0].value if words else None
    paths = words[1].values if len(words) > 1 and not words[1].glob else None
    if name not in ("dirname", "basename") or paths is None or not all(map(_named, paths)):
        return None
    if not quoted and not all(map(_LOOSE.isdisjoint, paths)):
        return None
    if name == "dirname":
        return (
            tuple(posixpath.dirname(path.rstrip("/")) or "." for path in paths) if len(words) == 2 else None
        )
    suffix = words[2].value if len(words) == 3 else ""
    if len(words) > 3 or suffix is None:
        return None
    return tuple(_without(posixpath.basename(path.rstrip("/")), suffix) for path in paths)


def _without(name: str, suffix: str) -> str:
    return name.removesuffix(suffix) if name != suffix else name


def _named(path: str) -> bool:
    """Whether it has a name of its own."""
    return (
        path[:1] not in ("~", "-")
        and path.rstrip("/") not in ("", ".")
        and "//" not in path
        and "\n" not in path
    )
