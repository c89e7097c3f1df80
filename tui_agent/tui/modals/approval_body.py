"""The content of the approval sheet as rows: the preview, the effects, the risk, the policies.

Invariant: the preview is never shortened.
"""

import posixpath
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from textual.strip import Strip

from tui_agent.protocol.display_blocks import DiffBlock, DisplayBlock, TerminalBlock, TextBlock
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.settings import POLICIES
from tui_agent.tui.modals.effect_table import (
    MIN_CELLS_BESIDE_LABEL,
    command_table,
    effect_lines,
    numbered_commands,
)
from tui_agent.tui.modals.exact_command import command_rows, command_text, is_command
from tui_agent.tui.modals.preview_rows import PreviewTexts, ReadLong, block_rows
from tui_agent.tui.panes.policy import policy_role, policy_words
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import fit, reveal_line
from tui_agent.tui.widgets.rows import Part, wrap
from tui_agent.tui.widgets.sheet import Sheet
from tui_agent.units import NO_LINES, format_line_changes, format_time_limit

MAX_CACHED_BLOCKS: Final = 16
LABEL_WIDTH: Final = 9


class ApprovalBody:
    """Draws the content of a permission request on the approval sheet.

    `read`: loads long texts.
    """

    def __init__(
        self, sheet: Sheet[Any], request: PermissionRequested, policy: str, workspace: str, read: ReadLong
    ) -> None:
        self._sheet = sheet
        self._request = request
        self._policy = policy
        self._workspace = workspace
        self._texts = PreviewTexts(request.preview, read, sheet.redraw)
        self._block_cache: dict[tuple[object, ...], list[Strip]] = {}
        self._run_effects = [effect for effect in request.effects if isinstance(effect, RunEffect)]
        self.runs = next(iter(self._run_effects), None)
        """The first command of the tool call; None if it runs no command."""

    @property
    def is_complete(self) -> bool:
        """True if all long texts of the preview are loaded."""
        return self._texts.is_complete

    def file_rows(self, width: int) -> list[Strip]:
        """Draw the name of the changed file and the number of changed lines; for a command, nothing."""
        if self.runs is not None:
            return []
        part = self._sheet.part
        verb = (
            reveal_line(self._request.verb or self._request.tool).ljust(
                0 if width < MIN_CELLS_BESIDE_LABEL else 7
            )
            + " "
        )
        diffs = [block for block in self._request.preview if isinstance(block, DiffBlock)]
        room = width - len(verb) - (10 if diffs and width >= MIN_CELLS_BESIDE_LABEL else 0)
        first, *others = wrap(reveal_line(self._request.target, self._sheet.looks.symbols.line_break), room)
        left = [part(verb, "t2"), part(first)]
        if diffs:
            minus = self._sheet.looks.symbols.minus
            added, removed = sum(diff.added for diff in diffs), sum(diff.removed for diff in diffs)
            changes = format_line_changes(added, removed, minus) or ((NO_LINES, "t3"),)
            left += [part("  "), *(part(f" {words}", role) for words, role in changes)]
        indent = " " * len(verb)
        more = [self._sheet.line(width, [part(indent), part(piece)]) for piece in others]
        return [self._sheet.line(width, left), *more]

    def preview(self, width: int, *, edges: bool = False) -> list[Strip]:
        """Draw the full preview of the tool call.

        `edges`: True to add an empty row above and below a command.
        """
        rows: list[Strip] = []
        runs, blocks, looks = self.runs, self._request.preview, self._sheet.looks
        begins_with_text = bool(blocks) and isinstance(blocks[0], TextBlock | TerminalBlock)
        # The preview can begin with the command itself as text. Do not draw the same command twice.
        shows_first = runs and begins_with_text and is_command(self._texts.text_of(0), runs)
        for effect in self._run_effects[1 if shows_first else 0 :]:
            rows += command_rows(command_text(effect), looks, width, edges=edges)
        for index, block in enumerate(blocks):
            text = self._texts.text_of(index)
            if runs is not None and index == 0 and begins_with_text:
                rows += command_rows(text, looks, width, edges=edges)
            else:
                rows += self._block(block, width, text)
        return rows

    def _block(self, block: DisplayBlock, width: int, text: str) -> list[Strip]:
        # The sheet is redrawn whenever another row becomes visible, but its blocks do not change.
        looks = self._sheet.looks
        key = (id(block), width, text, looks.palette.key, looks.symbols.name)
        if key not in self._block_cache:
            if len(self._block_cache) >= MAX_CACHED_BLOCKS:
                self._block_cache.clear()
            self._block_cache[key] = block_rows(block, looks, width, text)
        return self._block_cache[key]

    def effects(
        self,
        width: int,
        *,
        roomy: bool,
        heading: bool = True,
        only_risky: bool = False,
        context: bool = True,
    ) -> list[Strip]:
        """Draw the effects of the tool call, e.g. what a command does and how to undo it.

        - `roomy`: True to add empty rows between the parts
        - `heading`: True to add a heading above the commands
        - `only_risky`: True to leave out commands that only read the workspace or run its code
        - `context`: False to draw only the commands, without their heading
        """
        gap = [self._sheet.line(width, [])] if roomy else []
        rows = [*self.folder_rows(width), *gap] if context else []
        if self._request.commands:
            if context and heading:
                rows.append(self._sheet.line(width, [self._sheet.part("What it does", bold=True)]))
            rows += [*self.commands(width, only_risky=only_risky), *gap]
        if context or not self._request.commands:
            rows += self.labelled_rows(width, reason=not self._request.rerun)
        return rows

    def commands(self, width: int, *, only_risky: bool = False) -> list[Strip]:
        """Draw a table of the commands in a command line, with their effects.

        `only_risky`: True to draw only risky commands, and count the others.
        """
        commands = numbered_commands(self._request, self._sheet.looks.symbols.line_break)
        shown = [
            command
            for command in commands
            if not only_risky or any(effect.risky for effect in command.effects)
        ]
        rows = command_table(shown, self._sheet.pen, width)
        hidden = len(commands) - len(shown)
        if hidden:
            text = f"Not shown: {hidden} commands that read, change or run only files of this workspace"
            if hidden == 1:
                text = "Not shown: 1 command that reads, changes or runs only files of this workspace"
            rows += self._sheet.text_rows(width, text, "t3")
        return rows

    def risky_commands(self, width: int, room: int) -> list[Strip]:
        """Draw the risky commands and their effects, in at most `room` rows."""
        rows = self.commands(width, only_risky=True)
        if len(rows) <= room:
            return rows
        hint = f"more commands: {self._sheet.key_map.key_of('whole_command')} shows all"
        return [*rows[: room - 1], *self._sheet.text_rows(width, hint, "t3")] if room else []

    def folder_rows(self, width: int) -> list[Strip]:
        """Draw a command's working folder, time limit and sandbox; nothing if there is no command."""
        if self.runs is None:
            return []
        home = str(Path.home())
        folder = reveal_line(posixpath.normpath(posixpath.join(self._workspace or ".", self.runs.cwd)))
        if folder == home or folder.startswith(home + "/"):
            folder = "~" + folder[len(home) :]
        limit = self._request.time_limit_s
        at_most = f", at most {format_time_limit(limit)}" if limit else ""
        sandbox = reveal_line(self._request.sandbox)
        confined = f"confined by {sandbox}, own temp folder" if sandbox else "not confined"
        if self._request.environment:
            confined = f"in {reveal_line(self._request.environment)}"
        return self._sheet.text_rows(width, f"in {folder}{at_most}, {confined}", "t3")

    def labelled_rows(self, width: int, *, reason: bool = True) -> list[Strip]:
        """Draw the labelled effects, such as `Undo`.

        `reason`: False to leave out the row `Asked`, which tells why the user is asked.
        """
        rows: list[Strip] = []
        for label, text in effect_lines(
            self._request, self._policy, self._workspace, self._sheet.looks.symbols.line_break
        ):
            if label == "Asked" and not reason:
                continue
            if width < MIN_CELLS_BESIDE_LABEL:
                rows += self._sheet.text_rows(width, f"{label} {text}")
                continue
            for number, piece in enumerate(wrap(text, max(10, width - LABEL_WIDTH))):
                left = [self._sheet.part(("" if number else label).ljust(LABEL_WIDTH), "t2")]
                left += self._with_policy(piece) if label == "Asked" else [self._sheet.part(piece)]
                rows.append(self._sheet.line(width, left))
        return rows

    def _with_policy(self, text: str) -> list[Part]:
        part = self._sheet.part
        before, separator, after = text.partition(f"policy {self._policy}")
        if not separator:
            return [part(text)]
        name = part(self._policy, policy_role(self._policy), bold=True)
        return [part(before + "policy "), name, part(after)]

    def risk(self, width: int, max_rows: int = 0) -> list[Strip]:
        """Draw the risks of the request in at most `max_rows` rows; 0 means no limit."""
        return self._draw_marked_text(
            self._request.risk, self._sheet.looks.symbols.warning, "warning", width, max_rows
        )

    def failure(self, width: int) -> list[Strip]:
        """Draw what the sandbox blocked when the command first ran, in at most two rows."""
        return self._draw_marked_text(
            self._request.reason, self._sheet.looks.symbols.failed, "error", width, 2
        )

    def rule_error(self, width: int, max_rows: int = 0) -> list[Strip]:
        """Draw the reason why the edited rule was rejected, in at most `max_rows` rows (0: no limit)."""
        return self._draw_marked_text(
            self._request.rule_error, self._sheet.looks.symbols.failed, "error", width, max_rows
        )

    def _draw_marked_text(self, text: str, mark: str, role: Role, width: int, max_rows: int) -> list[Strip]:
        room = max(1, width - 2)
        pieces = wrap(reveal_line(text), room) if text else []
        if 0 < max_rows < len(pieces):
            rest = " ".join(pieces[max_rows - 1 :])
            pieces = [*pieces[: max_rows - 1], fit(rest, room, self._sheet.looks.symbols.ellipsis)]
        first = [self._sheet.part(f"{mark} ", role, bold=True)]
        return self._sheet.pen.hanging_rows(width, first, pieces, self._sheet.style())

    def policies(self, width: int, granted_rules: Sequence[str]) -> list[Strip]:
        """Draw the policies with what each one allows, and the rules of this session."""
        sheet = self._sheet
        rows: list[Strip] = []
        for name in POLICIES:
            mark = sheet.looks.symbols.done if name == self._policy else " "
            words = policy_words(name, unconfined=self.runs is not None and not self._request.sandbox)
            label = [
                sheet.part(f"{mark} ", "success"),
                sheet.part(name.ljust(14), policy_role(name), bold=True),
            ]
            rows += sheet.pen.hanging_rows(width, label, wrap(words, max(1, width - 16)), sheet.style())
        rows += [sheet.line(width, []), *sheet.text_rows(width, "Rules of this session", bold=True)]
        for rule in granted_rules:
            rows += sheet.text_rows(width, reveal_line(rule))
        if not granted_rules:
            rows += sheet.text_rows(width, "none yet; “Yes, this session” adds one", "t2")
        key = sheet.key_map.key_of("next_policy")
        hint = f"After you answer: /policy shows saved rules too; {key} or /policy changes the policy."
        return [*rows, sheet.line(width, []), *sheet.text_rows(width, hint, "t3")]
