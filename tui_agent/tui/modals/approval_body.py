"""What an approval is about: the thing itself and its effects, as rows of its sheet.

Invariant: the thing stands whole and unshortened; effects stand in their fixed order.
"""

import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from textual.strip import Strip

from tui_agent.protocol.display import DiffBlock, DisplayBlock, TerminalBlock, TextBlock
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.settings import POLICIES
from tui_agent.tui.modals.block_rows import PreviewTexts, ReadLong, block_rows
from tui_agent.tui.modals.effects import NARROW, deed_lines, deed_parts, effect_lines
from tui_agent.tui.modals.exact_command import command_rows, command_text, says
from tui_agent.tui.panes.policy import policy_role, policy_words
from tui_agent.tui.text import fit, named
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import Part, wrap
from tui_agent.tui.widgets.sheet import Sheet

MOST_DRAWN: Final = 16


class ApprovalBody:
    """Draws a request on `sheet`; `blob` reads its long texts."""

    def __init__(
        self, sheet: Sheet[Any], request: PermissionRequested, policy: str, workspace: str, blob: ReadLong
    ) -> None:
        self._sheet = sheet
        self._request = request
        self._policy = policy
        self._workspace = workspace
        self._texts = PreviewTexts(request.preview, blob, sheet.redraw)
        self._drawn: dict[tuple[object, ...], list[Strip]] = {}

    def subject(self, width: int) -> list[Strip]:
        """The file that is meant, with how much changes; nothing where a command runs."""
        if any(isinstance(one, RunEffect) for one in self._request.effects):
            return []
        verb = named(self._request.verb or self._request.tool).ljust(0 if width < NARROW else 7) + " "
        diffs = [one for one in self._request.preview if isinstance(one, DiffBlock)]
        rows: list[Strip] = []
        beside = 10 if diffs and width >= NARROW else 0
        for at, piece in enumerate(wrap(named(self._request.target), width - len(verb) - beside)):
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

    def preview(self, width: int, *, edges: bool = False) -> list[Strip]:
        """The exact thing, whole."""
        rows: list[Strip] = []
        runs, shown = self.runs, self._request.preview
        first = shown[0] if shown else None
        said = self._texts.of(0) if isinstance(first, (TextBlock, TerminalBlock)) else None
        if runs is not None and (said is None or not says(said, runs)):
            rows += command_rows(command_text(runs), self._sheet.looks, width, edges=edges)
        for at, block in enumerate(shown):
            text = self._texts.of(at)
            if runs is not None and at == 0 and said is not None:
                rows += command_rows(text, self._sheet.looks, width, edges=edges)
            else:
                rows += self._block(block, width, text)
        return rows

    def _block(self, block: DisplayBlock, width: int, text: str) -> list[Strip]:
        """Its rows, drawn once for a width: what is below them changes with every row that comes in sight."""
        looks = self._sheet.looks
        key = (id(block), width, text, looks.palette.key, looks.symbols.name)
        if key not in self._drawn:
            if len(self._drawn) >= MOST_DRAWN:
                self._drawn.clear()
            self._drawn[key] = block_rows(block, looks, width, text)
        return self._drawn[key]

    @property
    def whole(self) -> bool:
        """Whether all texts of it were read."""
        return self._texts.whole

    @property
    def runs(self) -> RunEffect | None:
        """The command, where one runs."""
        return next((one for one in self._request.effects if isinstance(one, RunEffect)), None)

    def effects(self, width: int, *, roomy: bool, grave: bool = False, why: bool = True) -> list[Strip]:
        """Commands and files in rows, then undo, then why it is asked; `roomy` with empty rows between. With `risky`
        only the commands that do more than read the workspace or run its code have a row, without `why` only they."""
        gap = [self._sheet.line(width, [])] if roomy else []
        rows = [*self._where(width), *gap] if why else []
        if self._request.commands:
            if roomy:
                rows.append(self._sheet.line(width, [("What it does", self._sheet.style(bold=True))]))
            rows += self.deeds(width, grave=grave)
            rows += gap
        if why or not self._request.commands:
            rows += self._labelled(width)
        return rows

    def deeds(self, width: int, *, grave: bool = False) -> list[Strip]:
        """What the commands do."""
        found = [(at, *one) for at, one in enumerate(deed_lines(self._request), 1)]
        shown = [one for one in found if not grave or any(effect.risky for effect in one[2])]
        rows = [
            self._sheet.line(
                width, [(text, self._sheet.style(role, bold=bold)) for text, role, bold in pieces]
            )
            for pieces in deed_parts(shown, width)
        ]
        rest = len(found) - len(shown)
        if rest:
            said = "more reads, runs or changes" if rest == 1 else "more read, run or change"
            rows += self._notes(width, f"{rest} {said} this workspace")
        return rows

    def few(self, width: int, room: int) -> list[Strip]:
        """As many rows of what matters as there is room for."""
        rows = self.deeds(width, grave=True)
        if len(rows) <= room:
            return rows
        more = f"and more: {self._sheet.key_map.key_of('whole_command')} shows all"
        return [*rows[: room - 1], *self._notes(width, more)] if room else []

    def around(self, width: int) -> list[Strip]:
        """Where it runs, what takes it back and why it is asked about."""
        return [*self._where(width), *self._labelled(width)]

    def _notes(self, width: int, text: str) -> list[Strip]:
        return self._sheet.text_rows(width, text, "t3")

    def _where(self, width: int) -> list[Strip]:
        runs = self.runs
        if runs is None:
            return []
        limit = self._request.time_limit_s
        bound = f", at most {limit:g} s" if limit else ""
        confined = named(self._request.sandbox)
        how = f"confined by {confined}" if confined else "not confined"
        return self._notes(width, f"in {self._folder(runs.cwd)}{bound}, {how}")

    def _labelled(self, width: int) -> list[Strip]:
        rows: list[Strip] = []
        for label, text in effect_lines(self._request, self._policy, self._workspace):
            if width < NARROW:
                rows += self._sheet.text_rows(width, f"{label} {text}")
                continue
            for at, piece in enumerate(wrap(text, max(10, width - 9))):
                left: list[Part] = [(label.ljust(9) if at == 0 else " " * 9, self._sheet.style("t2"))]
                left += self._named_policy(piece) if label == "Asked" else [(piece, self._sheet.style())]
                rows.append(self._sheet.line(width, left))
        return rows

    def risk(self, width: int, most: int = 0) -> list[Strip]:
        """What is dangerous about it; in so many rows, where `most` is given, and where more is left out its last says so."""
        return self._marked(self._request.risk, self._sheet.looks.symbols.warning, "warning", width, most)

    def wrong(self, width: int, most: int = 0) -> list[Strip]:
        """Why the rule that was written before cannot stand; in so many rows as `risk`."""
        return self._marked(self._request.rule_error, self._sheet.looks.symbols.failed, "error", width, most)

    def _marked(self, text: str, mark: str, role: Role, width: int, most: int = 0) -> list[Strip]:
        pieces = wrap(named(text), max(1, width - 2)) if text else []
        if 0 < most < len(pieces):
            left = " ".join(pieces[most - 1 :])
            pieces = [*pieces[: most - 1], fit(left, max(1, width - 2), self._sheet.looks.symbols.ellipsis)]
        first = [(f"{mark} ", self._sheet.style(role, bold=True))]
        return self._sheet.hanging_rows(width, first, pieces, self._sheet.style())

    def policy(self, width: int, granted: Sequence[str]) -> list[Strip]:
        """What the policies let happen, which one stands, and what was allowed for this session."""
        style = self._sheet.style
        rows: list[Strip] = []
        for name in POLICIES:
            mark = self._sheet.looks.symbols.done if name == self._policy else " "
            left: list[Part] = [
                (f"{mark} ", style("success")),
                (name.ljust(14), style(policy_role(name), bold=True)),
            ]
            words = policy_words(name, unconfined=self.runs is not None and not self._request.sandbox)
            rows.append(self._sheet.line(width, [*left, (words, style())]))
        if granted:
            rows += [
                self._sheet.line(width, []),
                self._sheet.line(width, [("Allowed in this session", style(bold=True))]),
            ]
            for rule in granted:
                rows += self._sheet.text_rows(width, named(rule))
        key = self._sheet.key_map.key_of("next_policy")
        note = self._notes(width, f"{key} or /policy changes it, after this answer.")
        return [*rows, self._sheet.line(width, []), *note]

    def _folder(self, cwd: str) -> str:
        home = str(Path.home())
        folder = named(posixpath.normpath(posixpath.join(self._workspace or ".", cwd)))
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
