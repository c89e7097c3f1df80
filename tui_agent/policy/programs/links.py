"""L3: the files that a command line changes or reads through links that it makes itself.

Invariant: pure; what is found only ever makes a line worse.
"""

import posixpath
from collections.abc import Iterator, Sequence

from tui_agent.policy.programs.part import Part
from tui_agent.policy.shell.words import join


def through_links(parts: Sequence[Part]) -> Iterator[str]:
    """`ln -s a/b c; echo x > c` changes `a/b`."""
    for part, links in _linked(parts):
        yield from _led((*part.writes, *part.removes), links)


def read_through_links(parts: Sequence[Part]) -> Iterator[str]:
    """`ln -s a/b c; cat c` reads `a/b`."""
    for part, links in _linked(parts):
        yield from _led(part.reads, links)


def link_names(parts: Sequence[Part]) -> Iterator[str]:
    """Where the links lie that it makes, as far as that can be told."""
    return (name for part in parts if makes_links(part) for name, _ in _made(part))


def _linked(parts: Sequence[Part]) -> Iterator[tuple[Part, Sequence[tuple[str, str]]]]:
    links = [found for part in parts if makes_links(part) for found in _made(part)]
    return ((part, links) for part in parts if links and not makes_links(part))


def _led(paths: Sequence[str], links: Sequence[tuple[str, str]]) -> Iterator[str]:
    for path in paths:
        for name, source in links:
            if path == name or path.startswith(f"{name}/"):
                yield source + path[len(name) :]


def makes_links(part: Part) -> bool:
    """Whether it gives files other names."""
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
