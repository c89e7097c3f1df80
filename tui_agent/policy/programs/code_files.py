"""L3: the files that code names which is given as text: an interpreter's, a query's, an editor's commands.

Invariant: pure; what is found only ever makes a command worse. A name that is put together while it runs is not found.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from tui_agent.policy.programs.part import Part
from tui_agent.policy.shell.script import ARBITRARY, PRIVILEGE

_MOST = 200
_MOST_READ = 20_000
_CODE = re.compile(r"""['"`(\s]""")
"""What stands in code or between a command's words, and hardly in a path."""
_TEXT = re.compile(r"""(["'`])([^"'`\n]{1,300})\1""")
_BARE = re.compile(r"""(?<![\w)\]}"'.$@*?\\-])(?:~?/|\.{1,2}/|\.(?=\w)|[\w-][\w.-]*/)[\w./~@+-]{0,300}""")
"""A path without quotes: one with a slash in it, or that begins with a dot and is nothing's attribute."""


def files_in_code(part: Part) -> Sequence[str]:
    """Paths that texts name which a program that may do anything is given."""
    if part.classes.isdisjoint((ARBITRARY, PRIVILEGE)) and not part.opaque:
        return ()
    found: dict[str, None] = {}
    for text in (*part.words[1:], part.told):
        if text and _CODE.search(text):
            found.update(dict.fromkeys(islice(_named(text[:_MOST_READ]), _MOST)))
    return tuple(found)


def _named(text: str) -> Iterator[str]:
    for quoted in _TEXT.finditer(text):
        if not re.search(r"\s", quoted[2]):
            yield quoted[2]
    for bare in _BARE.finditer(text):
        yield bare[0]
