"""The sheet of `/policy`: what each policy allows, the sandbox, and the rules in force.

Invariant: the sheet changes nothing itself: it submits commands, and calls `remove`.
"""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from textual.strip import Strip

from tui_agent.folds.screen_folds import ViewName
from tui_agent.protocol.commands import RevokeRule
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.panes.policy import COLUMNS, GRID, RESTORABLE, policy_role
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.rows import Part, Pen, wrap
from tui_agent.tui.widgets.sheet import ChoiceSheet

_NAME_WIDTH: Final = 16
_SHORT: Final = {"network": "net", "outside": "out"}
_REMOVE: Final = COLUMNS.index("remove")
_DROPPED_FIRST: Final = (0, _REMOVE, 5)
"""Indices in `COLUMNS` of the columns to leave out of a narrow table, in this order."""
_ROLES: Final[dict[str, Role]] = {"yes": "t1", "asks": "t2", "asks*": "t2", "no": "t3"}
_NOTES: Final = (
    "Even under the policy `bypass`, the agent cannot read secrets, edit git hooks or start-up files, or wipe a folder. "
    "You are asked when a command is unclear, or when a rule requires approval. "
    "New sessions here start with `ask` or `accept-edits`, whichever you used last."
)


class FileRule(NamedTuple):
    """A rule of a policy file.

    - `scope`: where the rule applies, in words
    - `file`: path of the policy file
    - `workspace`: the only folder in which the rule applies; empty if the rule applies everywhere
    - `is_own`: True if the rule is in the user's own file, not in a project's file
    """

    text: str
    scope: str
    file: str
    workspace: str = ""
    is_own: bool = True


class PolicySheet(ChoiceSheet[None]):
    """The sheet of `/policy`, in which the user can switch policies and remove rules.

    `remove`: function that removes a saved rule.
    """

    scope = "policy"
    title_text = "Policy"

    follows = frozenset[ViewName]({"state"})
    tight_below = 30

    def __init__(self, context: AppContext, remove: Callable[[FileRule], None]) -> None:
        super().__init__()
        self.context, self._remove = context, remove
        self._file_rules: Sequence[FileRule] | None = None
        """The rules from policy files; None until they are loaded."""
        self._fault = ""
        self.chosen = list(GRID).index(self.policy) if self.policy in GRID else 0

    def set_rules(self, rules: Sequence[FileRule], fault: str = "") -> None:
        """Show the rules from policy files, or the reason why the files cannot be read."""
        self._file_rules, self._fault = rules, fault
        self.redraw()

    @property
    def policy(self) -> str:
        """The name of the session's policy."""
        settings = self.context.state.settings
        return settings.policy if settings else "ask"

    @property
    def choices(self) -> list[str | FileRule]:
        """The selectable rows: policies, rules of the session, then saved rules."""
        return [
            *GRID,
            *self.context.state.granted_rules,
            *(rule for rule in self._file_rules or () if rule.is_own),
        ]

    @property
    def count(self) -> int:
        return len(self.choices)

    def title_right(self) -> Sequence[Part]:
        return [self.part(self.policy, policy_role(self.policy), bold=True), self.part(" in force", "t2")]

    def body(self, width: int) -> list[Strip]:
        gap = self.line(width, [])
        rows = [*self._table(width), *self.loose_gap(width)]
        rows += [*self.text_rows(width, _NOTES, "t3"), gap, *self._sandbox_rows(width), gap]
        rows += self._session_rules(width, len(rows))
        return [*rows, gap, *self._file_rule_rows(width, len(rows) + 1)]

    def key_hints(self) -> Sequence[KeyHint]:
        chosen = self.choices[self.chosen]
        first = self.key_map.hint(
            "policy_revoke", "remove from policy.toml" if isinstance(chosen, FileRule) else ""
        )
        if self.chosen < len(GRID):
            first = self.key_map.hint("policy_use")
        return [first, *map(self.key_map.hint, ("policy_choose", "policy_next", "policy_close"))]

    def _table(self, width: int) -> list[Strip]:
        name_width = _NAME_WIDTH if width >= 50 else _NAME_WIDTH - 3
        room = width - name_width - 4
        shown = list(range(len(COLUMNS)))
        for column in _DROPPED_FIRST:
            if room // len(shown) < (6 if _REMOVE in shown else 5):
                shown.remove(column)
        cell_width = max(5, room // len(shown))
        names = [COLUMNS[column] for column in shown]
        names = [_SHORT.get(name, name) for name in names] if width < 80 else names
        names = [name if len(name) < cell_width else "rm" for name in names]
        header = " " * (name_width + 4) + "".join(name.ljust(cell_width) for name in names)
        rows = [self.line(width, [self.part(header, "t2")])]
        for number, (name, verdicts) in enumerate(GRID.items()):
            pen = self._pen(number, len(rows))
            mark = self.looks.symbols.done if name == self.policy else " "
            left = [pen.mark, pen.part(f"{mark} ", "success")]
            left.append(pen.part(name.ljust(name_width), policy_role(name), bold=True))
            for column in shown:
                verdict = verdicts[column]
                word = ("yes" if self.context.state.sandbox else "asks") if verdict == "sandbox" else verdict
                left.append(pen.part(word.ljust(cell_width), _ROLES[word]))
            rows.append(pen.line(width, left))
        return [*rows, *self.text_rows(width, RESTORABLE, "t3")] if _REMOVE in shown else rows

    def _sandbox_rows(self, width: int) -> list[Strip]:
        state, symbols = self.context.state, self.looks.symbols
        if state.sandbox:
            limits = "commands write only to this workspace and use no network, unless you allow more."
            text = f"{clean_line(state.sandbox)}: {limits}"
            mark = self.part(f"{symbols.done} ", "success", bold=True)
        else:
            reason = clean_line(state.no_sandbox_reason) or "Commands can write anywhere and use the network."
            text = f"not in use. {reason} Without a sandbox, accept-edits asks about commands."
            mark = self.part(f"{symbols.warning} ", "warning", bold=True)
        label = self.part("Sandbox ", "t2", bold=True)
        return self.pen.hanging_rows(width, [label, mark], wrap(text, width - 10), self.style())

    def _session_rules(self, width: int, rows_above: int) -> list[Strip]:
        rows = self.text_rows(width, "Rules of this session", "t2", bold=True)
        rules = self.context.state.granted_rules
        if not rules:
            rows += self.text_rows(width, "none; “Yes, this session” in an approval adds one", "t3", indent=2)
        for number, rule in enumerate(rules, len(GRID)):
            pen = self._pen(number, rows_above + len(rows))
            pieces = wrap(clean_line(rule, reveal=True), width - 2)
            rows += pen.hanging_rows(width, [pen.mark], pieces, pen.style())
        return rows

    def _file_rule_rows(self, width: int, rows_above: int) -> list[Strip]:
        rows, number = list[Strip](), len(GRID) + len(self.context.state.granted_rules)
        if not self._file_rules:
            nothing = "loading …" if self._file_rules is None else "none; “Always” in an approval saves one"
            rows += self.text_rows(width, "Saved rules", "t2", bold=True)
            rows += self.text_rows(width, nothing, "t3", indent=2) if not self._fault else []
        rows += self.text_rows(width, self._fault, "error", indent=2) if self._fault else []
        for file, rules in groupby(self._file_rules or (), lambda rule: rule.file):
            rows += self.text_rows(width, f"Saved in {clean_line(file)}", "t2", bold=True)
            for rule in rules:
                # The rules of a project's file cannot be removed here, so they are not selectable.
                pen = self._pen(number, rows_above + len(rows)) if rule.is_own else self.pen
                number += rule.is_own
                text, scope = clean_line(rule.text, reveal=True), pen.part(rule.scope, "t3")
                pieces = wrap(text, max(width - len(rule.scope) - 6, 20))
                rows.append(pen.line(width, [pen.mark, pen.part(pieces[0])], [scope]))
                rows += pen.hanging_rows(width, [pen.part("  ")], pieces[1:], pen.style())
        return rows

    def _pen(self, number: int, body_row: int) -> Pen:
        if number == self.chosen:
            self.cursor_row = body_row
        return self.choice_pen(number)

    def redraw(self, *, keep: bool = True) -> None:
        self.chosen = min(self.chosen, self.count - 1)  # A removed rule leaves fewer rows.
        super().redraw(keep=keep)

    def use_next(self) -> None:
        """Switch to the next policy, but never to `bypass`: for that, the user must select the row `bypass`."""
        self.context.act("next_policy")

    def revoke(self) -> None:
        """Remove the rule in the selected row."""
        chosen = self.choices[self.chosen]
        if isinstance(chosen, FileRule):
            self._remove(chosen)
        elif chosen not in GRID:
            self.context.submit(RevokeRule(rule=chosen))

    def use(self) -> None:
        """Switch to the policy in the selected row."""
        chosen = self.choices[self.chosen]
        if isinstance(chosen, str) and chosen in GRID:
            self.context.choices.choose_policy(chosen)
