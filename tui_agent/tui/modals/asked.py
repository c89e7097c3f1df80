"""L7: what an approval is about: the thing itself and its effects, as rows of its sheet.

Invariant: the thing stands whole and unshortened; effects stand in their fixed order.
"""

import posixpath
from pathlib import Path
from typing import Any

from textual.strip import Strip

from tui_agent.protocol.display import DiffBlock, TerminalBlock, TextBlock
from tui_agent.protocol.effects import Runs
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.tui.modals.deeds import deed_parts
from tui_agent.tui.modals.effects import deed_lines, effect_lines
from tui_agent.tui.modals.exact import PreviewTexts, ReadLong, block_rows, command_rows
from tui_agent.tui.modals.sheet import Sheet
from tui_agent.tui.panes.policy import policy_role
from tui_agent.tui.rows import Part, part, wrap
from tui_agent.tui.text import clean_line


class Asked:
    """Draws a request on `sheet`; `blob` reads its long texts."""

    def __init__(
        self, sheet: Sheet[Any], request: PermissionRequested, policy: str, workspace: str, blob: ReadLong
    ) -> None:
        self._sheet = sheet
        self._request = request
        self._policy = policy
        self._workspace = workspace
        self._texts = PreviewTexts(request.preview, blob, sheet.redraw)

    def subject(self, width: int) -> list[Strip]:
        """The file that is meant, with how much changes; nothing where a command runs."""
        if any(isinstance(one, Runs) for one in self._request.effects):
            return []
        verb = clean_line(self._request.verb or self._request.tool).ljust(7) + " "
        diffs = [one for one in self._request.preview if isinstance(one, DiffBlock)]
        rows: list[Strip] = []
        for at, piece in enumerate(wrap(clean_line(self._request.target, reveal=True), width - 18)):
            left: list[Part] = [
                (verb if at == 0 else " " * len(verb), self._sheet.style("t2")),
                (piece, self._sheet.style()),
            ]
            if at == 0 and diffs:
                left += [
                    (f"   +{sum(one.added for one in diffs)}", self._sheet.style("success")),
                    (
                        f" {self._sheet.looks.symbols.minus}{sum(one.removed for one in diffs)}",
                        self._sheet.style("error"),
                    ),
                ]
            rows.append(self._sheet.line(width, left))
        return rows

    def preview(self, width: int, *, edges: bool) -> list[Strip]:
        """The exact thing, whole."""
        rows: list[Strip] = []
        runs = [one for one in self._request.effects if isinstance(one, Runs)]
        if runs and not any(
            isinstance(one, (TextBlock, TerminalBlock, DiffBlock)) for one in self._request.preview
        ):
            text = runs[0].script or _argv_text(runs[0].argv)
            rows += command_rows(text, self._sheet.looks, width, edges=edges)
        for at, block in enumerate(self._request.preview):
            text = self._texts.of(at)
            if runs and isinstance(block, (TextBlock, TerminalBlock)) and at == 0:
                rows += command_rows(text, self._sheet.looks, width, edges=edges)
            else:
                rows += block_rows(block, self._sheet.looks, width, text)
        return rows

    def effects(self, width: int, *, roomy: bool) -> list[Strip]:
        """Commands and files in rows, then undo, then why it is asked; `roomy` with empty rows between."""
        gap = [self._sheet.line(width, [])] if roomy else []
        rows: list[Strip] = []
        runs = next((one for one in self._request.effects if isinstance(one, Runs)), None)
        if runs is not None:
            rows.append(
                self._sheet.line(width, [part(f"in {self._folder(runs.cwd)}", self._sheet.style("t3"))])
            )
        rows += gap
        if self._request.deeds:
            if roomy:
                rows.append(self._sheet.line(width, [("What it does", self._sheet.style(bold=True))]))
            rows += [
                self._sheet.line(
                    width, [(text, self._sheet.style(role, bold=bold)) for text, role, bold in pieces]
                )
                for pieces in deed_parts(deed_lines(self._request), width)
            ]
            rows += gap
        for label, text in effect_lines(self._request, self._policy, self._workspace):
            for at, piece in enumerate(wrap(text, max(10, width - 9))):
                left: list[Part] = [(label.ljust(9) if at == 0 else " " * 9, self._sheet.style("t2"))]
                left += self._named_policy(piece) if label == "Asked" else [(piece, self._sheet.style())]
                rows.append(self._sheet.line(width, left))
        return rows

    def _folder(self, cwd: str) -> str:
        home = str(Path.home())
        folder = clean_line(posixpath.normpath(posixpath.join(self._workspace or ".", cwd)), reveal=True)
        return "~" + folder[len(home) :] if folder == home or folder.startswith(home + "/") else folder

    def _named_policy(self, text: str) -> list[Part]:
        """The sentence with the policy's name in its colour."""
        before, found, after = text.partition(f"policy {self._policy}")
        if not found:
            return [(text, self._sheet.style())]
        name = self._sheet.style(policy_role(self._policy), bold=True)
        return [
            (before + "policy ", self._sheet.style()),
            (self._policy, name),
            (after, self._sheet.style()),
        ]


def _argv_text(argv: tuple[str, ...]) -> str:
    return " ".join(word if word and " " not in word and "'" not in word else repr(word) for word in argv)
