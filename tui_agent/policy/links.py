"""L3: the files that a command line changes through links that it makes itself.

Invariant: pure; what is found only ever makes a line worse.
"""

import posixpath
from collections.abc import Iterator, Sequence

from tui_agent.policy.part import Part
from tui_agent.policy.shell_words import join


def through_links(parts: Sequence[Part]) -> Iterator[str]:
    """`ln -s a/b c; echo x > c` changes `a/b`."""
    links = [found for part in parts if _links(part) for found in _made(part)]
    for part in parts if links else ():
        for path in (*part.writes, *part.removes) if not _links(part) else ():
            for name, source in links:
                if path == name or path.startswith(f"{name}/"):
                    yield source + path[len(name) :]


def _links(part: Part) -> bool:
    return part.program.rpartition("/")[2] == "ln"


def _made(part: Part) -> Iterator[tuple[str, str]]:
    """Each link and what it may lead to: as seen from here, and from the folder that it lies in."""
    for source in part.reads:
        for target in part.writes:
            for name in (target, posixpath.join(target, posixpath.basename(source))):
                yield name, source
                seen = join(posixpath.dirname(name), source)
                if seen is not None and seen != source:
                    yield name, seen
