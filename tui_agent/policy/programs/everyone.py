"""L3: commands that end every program there is, or every program of a user.

Invariant: pure; which operands mean everyone is said by the entry of the program (`everyone`).
"""

import re

from tui_agent.policy.programs.options import Call

PATTERN = "~"
"""The operand is a regular expression, which means everyone where any name fits it."""
_SIGNS = re.compile(r"\[[^\]]*\]|\\[wWS.]|[.*+?^$()|{},0-9]")
_USERS = ("-u", "-U", "-G", "-g", "--user", "--euid", "--uid", "--group", "--pgroup")
_TAKES = (*_USERS, "-s", "--signal", "-t", "-P", "-F", "--ns", "-y", "-o", "-T")


def means_everyone(call: Call) -> str:
    """The words that mean every program; empty where none do."""
    values = ["…" if word.value is None else word.value for word in call.words]
    if call.program.everyone != PATTERN:
        named = call.program.everyone
        # the first of several is a signal
        return named if named in values[1:] or values == [named] else ""
    operands = [
        value
        for before, value in zip(["", *values], values, strict=False)
        if value[:1] != "-" and before not in _TAKES
    ]
    loose = next((value for value in operands if not _SIGNS.sub("", value)), None)
    if loose is not None:
        return repr(loose)
    users = next((value for value in values if value.startswith(_USERS)), "")
    return users if users and not operands else ""
