"""`/policy`: what each profile does, the sandbox, the rules in force, and taking one of this session back.

Invariant: it shows what is in force and posts wishes; nothing is changed here. Rules of files come late, and are only
shown.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from textual.strip import Strip

from tui_agent.folds.views import ViewName
from tui_agent.tui.actions import Scope
from tui_agent.tui.panes.policy import COLUMNS, GRID, policy_role
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import Part, Pen, part, wrap
from tui_agent.tui.widgets.sheet import Sheet

_NAME: Final = 16
_SHORT = {"network": "net", "outside": "out"}
_LEAST_TOLD = (0, 2, 5)
"""Columns that go first where there is no room for all: what every profile says alike, then what is rare."""
_ROLES: dict[str, Role] = {"yes": "t1", "asks": "t2", "no": "t3"}
_GUARDED = (
    "bypass still refuses to read secrets, to change what decides what runs later, and to ruin a folder. It asks where it is "
    "not certain what runs, and where a rule says so."
)


@dataclass(frozen=True, slots=True)
class FileRule:
    """A rule that stands in a file."""

    text: str
    source: str


@dataclass(frozen=True, slots=True)
class InForce:
    """What is in force. `sandbox` names what confines commands; where it is empty, `why_not` may say why."""

    policy: str
    granted: tuple[str, ...]
    sandbox: str = ""
    why_not: str = ""


class PolicySheet(Sheet[None]):
    """Switches profiles and takes rules of the session back; stays open until Esc. `files` is None while they come."""

    scope: ClassVar[Scope] = "policy"
    key_methods = {
        "policy_choose": "move",
        "policy_use": "use",
        "policy_next": "use_next",
        "policy_revoke": "revoke",
        "policy_close": "close",
    }

    follows: ClassVar[frozenset[ViewName]] = frozenset({"state"})

    def __init__(
        self,
        looks: Callable[[], Looks],
        now: Callable[[], InForce],
        switch: Callable[[str], None],
        revoke: Callable[[str], None],
    ) -> None:
        super().__init__(looks)
        self._now = now
        self._switch = switch
        self._revoke = revoke
        self._files: Sequence[FileRule] | None = None
        self._fault = ""
        self.chosen = list(GRID).index(now().policy) if now().policy in GRID else 0

    def set_rules(self, rules: Sequence[FileRule], fault: str = "") -> None:
        """The rules of files, or why they cannot be read."""
        self._files, self._fault = rules, fault
        self.redraw()

    @property
    def tight(self) -> bool:
        return self.app.size.height < 30

    @property
    def choices(self) -> list[str]:
        """What the cursor can stand on: profiles, then the session's rules."""
        return [*GRID, *self._now().granted]

    def follow(self) -> None:
        """What it shows may have changed."""
        self.redraw()

    def head(self, width: int) -> list[Strip]:
        now = self._now().policy
        right: list[Part] = [
            part(now, self.style(policy_role(now), bold=True)),
            (" in force", self.style("t2")),
        ]
        return self.title_rows(width, "Policy", right)

    def body(self, width: int) -> list[Strip]:
        now = self._now()
        rows = self._table(width, now)
        if not self.tight:
            rows.append(self.line(width, []))
        rows += self.text_rows(width, _GUARDED, "t3")
        rows += [self.line(width, []), *self._sandbox(width, now), self.line(width, [])]
        rows += self._session_rules(width, now, len(rows))
        rows.append(self.line(width, []))
        return rows + self._file_rules(width)

    def foot(self, width: int) -> list[Strip]:
        on_rule = self.chosen >= len(GRID)
        names = ("policy_revoke" if on_rule else "policy_use", "policy_close", "policy_next", "policy_choose")
        return [*self.spacer(width), self.keys_row(width, *names)]

    def _table(self, width: int, now: InForce) -> list[Strip]:
        named = _NAME if width >= 50 else _NAME - 3
        kept = list(range(len(COLUMNS)))
        for least in _LEAST_TOLD:
            if (width - named - 4) // len(kept) < 5:
                kept.remove(least)
        columns = [_SHORT.get(COLUMNS[at], COLUMNS[at]) if width < 80 else COLUMNS[at] for at in kept]
        room = max(5, (width - named - 4) // len(kept))
        head: list[Part] = [(" " * (named + 4), self.style())]
        head += [((name if len(name) < room else "rm").ljust(room), self.style("t2")) for name in columns]
        rows = [self.line(width, head)]
        for at, (name, cells) in enumerate(GRID.items()):
            row = self._row(at, len(rows))
            mark = self.looks.symbols.done if name == now.policy else " "
            left: list[Part] = [
                row.mark,
                (f"{mark} ", row.style("success")),
                (name.ljust(named), row.style(policy_role(name), bold=True)),
            ]
            for verdict in (cells[column] for column in kept):
                word = ("yes" if now.sandbox else "asks") if verdict == "sandbox" else verdict
                left.append((word.ljust(room), row.style(_ROLES[word])))
            rows.append(row.line(width, left))
        return rows

    def _sandbox(self, width: int, now: InForce) -> list[Strip]:
        if now.sandbox:
            said = f"{clean_line(now.sandbox)}: commands write only this workspace and reach no network, unless they are allowed to."
            mark: tuple[str, Role] = (self.looks.symbols.done, "success")
        else:
            why = clean_line(now.why_not) or "Nothing confines commands."
            said = f"none. {why} accept-edits asks about commands."
            mark = (self.looks.symbols.warning, "warning")
        return self._labelled(width, "Sandbox", said, mark)

    def _labelled(self, width: int, label: str, said: str, mark: tuple[str, Role]) -> list[Strip]:
        symbol, role = mark
        left = [(label.ljust(8), self.style("t2", bold=True)), (f"{symbol} ", self.style(role, bold=True))]
        return self.hanging_rows(width, left, wrap(said, width - 10), self.style())

    def _session_rules(self, width: int, now: InForce, rows_above: int) -> list[Strip]:
        rows = [self.line(width, [("Allowed in this session", self.style("t2", bold=True))])]
        if not now.granted:
            rows.append(self.line(width, [("  nothing", self.style("t3"))]))
        for at, rule in enumerate(now.granted, len(GRID)):
            row = self._row(at, rows_above + len(rows))
            pieces = wrap(clean_line(rule, reveal=True), width - 2)
            rows += row.hanging_rows(width, [row.mark], pieces, row.style())
        return rows

    def _file_rules(self, width: int) -> list[Strip]:
        rows = [self.line(width, [("Rules of files", self.style("t2", bold=True))])]
        if self._fault:
            rows += self.text_rows(width, self._fault, "error", indent=2)
        elif self._files is None:
            rows.append(self.line(width, [("  reading them", self.style("t3"))]))
        elif not self._files:
            rows.append(self.line(width, [("  none; they stand in policy.toml", self.style("t3"))]))
        for rule in self._files or ():
            text, source = clean_line(rule.text, reveal=True), clean_line(rule.source)
            beside = len(text) + len(source) + 6 <= width
            right: list[Part] = [(source, self.style("t3"))] if beside else []
            pieces = wrap(text, width - 2)
            for number, piece in enumerate(pieces):
                rows.append(self.line(width, [(f"  {piece}", self.style())], right if number == 0 else []))
            if not beside:
                rows += self.text_rows(width, source, "t3", indent=4)
        return rows

    def _row(self, at: int, body_row: int) -> Pen:
        if at == self.chosen:
            self.cursor_row = body_row
        return self.choice_row(at == self.chosen, f"choose {at}")

    def redraw(self, *, keep: bool = True) -> None:
        self.chosen = min(self.chosen, len(self.choices) - 1)
        super().redraw(keep=keep)

    def move(self, direction: int) -> None:
        """Choose the row above or below."""
        self.chosen = (self.chosen + direction) % len(self.choices)
        self.redraw()

    def use_next(self) -> None:
        """Use the next profile."""
        names = list(GRID)[:-1]
        now = self._now().policy
        self._switch(names[(names.index(now) + 1) % len(names)] if now in names else "ask")

    def revoke(self) -> None:
        """Take the chosen rule of this session back."""
        if self.chosen >= len(GRID):
            self._revoke(self.choices[self.chosen])

    def use(self) -> None:
        """Use the chosen profile."""
        if self.chosen < len(GRID):
            self._switch(self.choices[self.chosen])

    def clicked(self, wish: str) -> None:
        number = wish.removeprefix("choose ")
        if number.isdigit() and int(number) < len(self.choices):
            self.chosen = int(number)
            self.use()
            self.redraw()
