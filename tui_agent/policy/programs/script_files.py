"""L3: the files that a script of sed or awk names, where it does more than compute.

Invariant: pure; what is found only ever makes a command worse. A name that is put together while it runs is not found.
"""

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

Use: TypeAlias = Literal["read", "write"]

_LITERAL = r'"((?:[^"\\\n]|\\.)*)"'
_AWK: tuple[tuple[Use, re.Pattern[str]], ...] = (
    ("write", re.compile(rf">\s*{_LITERAL}")),
    ("read", re.compile(rf"<\s*{_LITERAL}")),
    ("read", re.compile(rf"ARGV\s*\[[^\]]*\]\s*=(?!=)\s*{_LITERAL}")),
)
_SED = re.compile(r"(?:^|(?<=[\s;{}!/|,#\d$]))[gpIiMme\d]*([rRwW])[ \t]+([^\s;}][^\n]*)", re.MULTILINE)
"""A command, or a flag behind `s`: the name goes on to the end of the line."""


def named_files(language: str, script: str) -> Iterator[tuple[Use, str]]:
    """Each file that it may read or write."""
    if language == "awk":
        for use, shape in _AWK:
            for found in shape.finditer(script):
                yield use, found[1]
    elif language == "sed":
        for found in _SED.finditer(script):
            name = found[2].rstrip()
            for one in dict.fromkeys((name, name.rstrip("} ;"))):
                yield ("write" if found[1] in "wW" else "read"), one
