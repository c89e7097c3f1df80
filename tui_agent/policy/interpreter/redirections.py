"""L3: what the redirections of a command read, write and connect to.

Invariant: a target that is not certain is a file of which nothing is known.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, assert_never

from tui_agent.policy.bash.syntax import Redirect
from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.draft import DEVICES, Draft
from tui_agent.policy.interpreter.expansion import Expander, known_value, unknown_value
from tui_agent.policy.interpreter.report import CommandReport, FileAction, Value

_SOCKET: Final = re.compile(r"/dev/(?:tcp|udp)/([^/]*)(?:/.*)?")


def may_fail(redirects: Sequence[Redirect]) -> bool:
    """Return True if a file that is read or written may not be there: then the command behind it is left out."""
    return any(
        redirect.operator not in ("<<", "<<<", ">&", "<&")
        and (redirect.target is None or redirect.target.literal != "/dev/null")
        for redirect in redirects
    )


@dataclass
class Redirections:
    """The redirections of a command. `stdin` and `output` are set where they replace the standard input, and what the
    command behind it in a pipe is given."""

    draft: Draft
    expander: Expander
    stdin: Value | None = None
    output: Value | None = None

    def add(self, redirect: Redirect) -> None:
        """Note one redirection."""
        replaces_input = redirect.descriptor in (None, 0)
        match redirect.operator:
            case "<<" | "<<<":
                word = redirect.body if redirect.operator == "<<" else redirect.target
                text = known_value("") if word is None else self.expander.expand_whole(word)
                self.draft.note_shown(text)
                if replaces_input:
                    self.stdin = replace(text, source=redirect.source)
            case "<" | "<&":
                if redirect.operator == "<" or not self._duplicates(redirect):
                    self._use(redirect, "read")
                if replaces_input:
                    self.stdin = unknown_value(redirect.source)
            case ">" | ">>" | ">|" | "&>" | "&>>" | ">&":
                if redirect.operator != ">&" or not self._duplicates(redirect):
                    self._use(redirect, "write")
                    hidden = known_value("") if redirect.descriptor in (None, 1) else None
                    # Errors that went to the output before still do.
                    self.output = self.output or hidden
            case _:
                assert_never(redirect.operator)

    def add_to(self, report: CommandReport) -> CommandReport:
        """The report of the command with what its redirections do."""
        added = self.draft.report()
        return replace(
            report,
            effects=report.effects | self.draft.effects,
            files=(*report.files, *added.files),
            hosts=(*report.hosts, *added.hosts),
            doubts=tuple(dict.fromkeys((*report.doubts, *added.doubts))),
        )

    def _duplicates(self, redirect: Redirect) -> bool:
        """Return True if the target of `>&` or `<&` is another descriptor."""
        target = None if redirect.target is None else self.expander.expand_whole(redirect.target).known
        if target is None or not (target.rstrip("-").isdecimal() or target == "-"):
            return False
        if redirect.descriptor in (None, 1) or target == "1":
            self.output = unknown_value("")
        return True

    def _use(self, redirect: Redirect, action: FileAction) -> None:
        values: Sequence[Value] = () if redirect.target is None else self.expander.expand(redirect.target)
        value = values[0] if len(values) == 1 else unknown_value(redirect.source)
        socket = _SOCKET.fullmatch(value.known or "")
        if socket is not None:
            self.draft.effects.add(Effect.CONNECTS)
            self.draft.hosts.append(socket[1])
        elif value.known not in DEVICES:
            if value.many and value.known is None:
                self.draft.doubt("value", f"it is not certain which file {value.source} is")
            self.draft.add_file(value, action)
