"""L1: judge a user and a password behind an option, as in `-u ada:…`, by the program that the option belongs to.

Invariant: behind a program that signs in with the option any value counts that is no placeholder; behind others only
what nobody takes for a name, a number or a path (`docker run --user node:node`, `-u 1000:1000`).
"""

import re

from tui_agent.store.redaction.candidate import Candidate
from tui_agent.store.redaction.shapes import has_shape
from tui_agent.store.redaction.values import has_digit, looks_chosen

_SIGNS_IN_BY_LETTER = {
    "a": re.compile(r"\b(?:xhs?|https?|httpie|curlie|hey|wuzz|http-prompt)[ \t]"),
    "A": re.compile(r"\bab[ \t]"),
}
"""Programs for which `-a` or `-A` takes a login: for `curl` and `ls` it means something else."""
_MAX_LINE = 400
"""Characters before an option in which its program is looked for."""


def is_login_option(candidate: Candidate) -> bool:
    """Return True for the password of `-u user:password` and options like it."""
    value, line, option = candidate.value, _command_before(candidate), candidate.group("option")
    if has_shape(value, "placeholder", "template") or re.match(r"v?\d+\.\d", value):
        return False
    if option[-1] in "aA" and not option.startswith("--"):
        return _SIGNS_IN_BY_LETTER[option[-1]].search(line) is not None
    if has_shape(line, "signs-in"):
        return True
    if has_shape(line, "other-user") or "/" in value or value.isdigit() or len(value) < 8:
        return False
    return looks_chosen(value) and has_digit(value) and not re.fullmatch(r"[a-z_]+\d{0,2}", value)


def _command_before(candidate: Candidate) -> str:
    """Return the command's line up to the option, with the lines that it continues."""
    lead = candidate.lead[: candidate.lead.find(candidate.group("option"))]
    text = (candidate.nearest(_MAX_LINE) + lead).replace("\\\n", "  ")
    return text[text.rfind("\n") + 1 :]
