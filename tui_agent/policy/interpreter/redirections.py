"""L3: what the redirections of a command read, write and connect to.

Invariant: a target that is not certain is a file of which nothing is known.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final, assert_never

from tui_agent.policy.bash.syntax import Redirect
from tui_agent.policy.catalog.model import Effect
from tui_agent.policy.interpreter.draft import DEVICES, Draft
from tui_agent.policy.interpreter.expansion import Expander, known_value, unknown_value
from tui_agent.policy.interpreter.report import CommandReport, FileAction, Value

_SOCKET: Final = re.compile(r"/dev/(?:tcp|udp)/([^/]*)(?:/.*)?")


@dataclass
class Redirections:
    """The redirections of a command. `stdin` is set where they replace the standard input; `hides_output`: the standard output
    goes somewhere else; `mixes_errors`: it holds the standard error as well."""

    draft: Draft
    stdin: Value | None = None
    hides_output: bool = False
    mixes_errors: bool = False
    shown: list[Value] = field(default_factory=list)

    def add(self, redirect: Redirect, expander: Expander) -> None:
        """Note one redirection."""
        match redirect.operator:
            case "<<" | "<<<":
                word = redirect.body if redirect.operator == "<<" else redirect.target
                text = known_value("") if word is None else expander.expand_whole(word)
                self.shown.append(text)
                if redirect.descriptor in (None, 0):
                    self.stdin = replace(text, source=redirect.source)
            case "<":
                self._use(redirect, expander, "read")
                if redirect.descriptor in (None, 0):
                    self.stdin = unknown_value(redirect.source)
            case ">" | ">>" | ">|" | "&>" | "&>>":
                self._use(redirect, expander, "write")
                self.hides_output = self.hides_output or redirect.descriptor in (None, 1)
            case ">&" | "<&":
                self._duplicate(redirect, expander)
            case _:
                assert_never(redirect.operator)

    def add_to(self, report: CommandReport) -> CommandReport:
        """The report of the command with what its redirections do."""
        draft = self.draft
        for value in self.shown:
            draft.note_shown(value)
        if not (draft.effects or draft.files or draft.doubts or draft.hosts):
            return report
        return replace(
            report,
            effects=report.effects | draft.effects,
            files=(*report.files, *draft.files),
            hosts=(*report.hosts, *draft.hosts),
            doubts=(*report.doubts, *draft.final_doubts()),
        )

    def change_output(self, output: Value) -> Value:
        """The output of a command with these redirections."""
        if self.hides_output:
            return known_value("")
        return unknown_value("") if self.mixes_errors else output

    def _duplicate(self, redirect: Redirect, expander: Expander) -> None:
        target = None if redirect.target is None else expander.expand_whole(redirect.target).known
        if target is not None and (target.rstrip("-").isdecimal() or target == "-"):
            self.mixes_errors = self.mixes_errors or (target == "1" and redirect.descriptor == 2)
            if redirect.operator == "<&" and redirect.descriptor in (None, 0):
                self.stdin = unknown_value(redirect.source)
            return
        self._use(redirect, expander, "write" if redirect.operator == ">&" else "read")
        self.hides_output = self.hides_output or redirect.descriptor in (None, 1)

    def _use(self, redirect: Redirect, expander: Expander, action: FileAction) -> None:
        values: Sequence[Value] = () if redirect.target is None else expander.expand(redirect.target)
        value = values[0] if len(values) == 1 else unknown_value(redirect.source)
        known = value.known
        socket = _SOCKET.fullmatch(known or "")
        if known in DEVICES:
            return
        if socket is not None:
            self.draft.effects.add(Effect.CONNECTS)
            self.draft.hosts.append(socket[1])
            return
        if value.many and known is None:
            self.draft.doubt("value", f"it is not certain which file {value.source} is")
        self.draft.add_file(value, action)
        if action == "write":
            self.draft.effects.add(Effect.WRITES)
