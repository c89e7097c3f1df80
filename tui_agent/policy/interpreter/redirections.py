"""The effects of redirections in a command line: files read and written, and network connections.

Invariant: an uncertain target is an unknown file.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tui_agent.policy.bash.syntax import Redirect
from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.draft import DEVICES, Draft
from tui_agent.policy.interpreter.expansion import Expander, known_value, unknown_value
from tui_agent.policy.interpreter.report import FileAction, Value

_SOCKET: Final = re.compile(r"/dev/(?:tcp|udp)/([^/]*)(?:/.*)?")


def may_fail(redirects: Sequence[Redirect]) -> bool:
    """Return True if a redirection can fail and keep the command from running, for example because a file is missing."""
    return any(
        redirect.operator not in ("<<", "<<<")
        and redirect.target is not None
        and redirect.target.literal
        not in (("0", "1", "2") if redirect.operator[-1] == "&" else ("/dev/null",))
        for redirect in redirects
    )


def read_redirects(
    draft: Draft, redirects: Sequence[Redirect], expander: Expander, stdin: Value
) -> tuple[Value, Value | None]:
    """Record the effects of a command's redirections in `draft`.

    Return (the command's standard input, the text for the next command in the pipe). The second value is None if the
    output is not redirected.
    """
    output: Value | None = None
    for redirect in redirects:
        word = redirect.target or redirect.body
        assert word is not None
        match redirect.operator:
            case "<<" | "<<<":
                text = expander.expand_whole(word)
                draft.note_shown(text)
                if redirect.descriptor in (None, 0):
                    stdin = replace(text, source=redirect.source)
            case "<":
                _use(draft, redirect, expander.expand(word), "read")
                if redirect.descriptor in (None, 0):
                    stdin = unknown_value(redirect.source)
            case "<&" | ">&":
                stdin = unknown_value(redirect.source) if redirect.operator == "<&" else stdin
                if redirect.descriptor in (None, 1) or word.literal == "1":
                    output = unknown_value("")
            case _:
                _use(draft, redirect, expander.expand(word), "write")
                if redirect.descriptor in (None, 1):
                    # Errors that an earlier `2>&1` sent to the output still go there.
                    output = output or known_value("")
    return stdin, output


def _use(draft: Draft, redirect: Redirect, values: Sequence[Value], action: FileAction) -> None:
    value = values[0] if len(values) == 1 else unknown_value(redirect.source)
    socket = _SOCKET.fullmatch(value.known or "")
    if socket is not None:
        draft.effects.add(Effect.CONNECTS)
        draft.hosts.append(socket[1])
    elif value.known not in DEVICES:
        if value.many and value.known is None:
            draft.doubt("value", f"it is not certain which file {value.source} is")
        draft.add_file(value, action)
