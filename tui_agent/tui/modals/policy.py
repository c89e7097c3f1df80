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
from tui_agent.tui.widgets.rows import Part, doing, part, wrap
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
        self._row_of: dict[int, int] = {}

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
        title: list[Part] = [part("Policy", self.style(bold=True))]
        now = self._now().policy
        right: list[Part] = [
            part(now, self.style(policy_role(now), bold=True)),
            (" in force", self.style("t2")),
        ]
        gap = [] if self.app.size.height < 16 else [self.line(width, [])]
        return [self.line(width, title, right), *gap]

    def body(self, width: int) -> list[Strip]:
        now = self._now()
        rows = self._table(width, now)
        if not self.tight:
            rows.append(self.line(width, []))
        for piece in wrap(_GUARDED, width):
            rows.append(self.line(width, [(piece, self.style("t3"))]))
        rows += [self.line(width, []), *self._sandbox(width, now), self.line(width, [])]
        rows += self._session_rules(width, now)
        rows.append(self.line(width, []))
        return rows + self._file_rules(width)

    def foot(self, width: int) -> list[Strip]:
        gap = [] if self.app.size.height < 16 else [self.line(width, [])]
        on_rule = self.chosen >= len(GRID)
        names = ("policy_revoke" if on_rule else "policy_use", "policy_close", "policy_next", "policy_choose")
        return [*gap, self.keys_line(width, [self.key_map.hint(name) for name in names])]

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
            self._row_of[at] = len(rows)
            chosen, ground = self._ground(at)
            fill = self.style(ground=ground)
            wish = f"choose {at}"
            left: list[Part] = [
                (f"{self.looks.symbols.chosen} " if chosen else "  ", self.style("accent", ground)),
                (
                    (self.looks.symbols.done if name == now.policy else " ") + " ",
                    self.style("success", ground),
                ),
                (name.ljust(named), doing(self.style(policy_role(name), ground, bold=True), wish)),
            ]
            for said in (cells[column] for column in kept):
                word = ("yes" if now.sandbox else "asks") if said == "sandbox" else said
                left.append((word.ljust(room), doing(self.style(_ROLES[word], ground), wish)))
            rows.append(self.line(width, [*left, (" ", fill)], ground=ground))
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
        rows = []
        for at, piece in enumerate(wrap(said, width - 10)):
            left: list[Part] = [((label if at == 0 else "").ljust(8), self.style("t2", bold=True))]
            left += [
                (mark[0] if at == 0 else " ", self.style(mark[1], bold=True)),
                (f" {piece}", self.style()),
            ]
            rows.append(self.line(width, left))
        return rows

    def _session_rules(self, width: int, now: InForce) -> list[Strip]:
        rows = [self.line(width, [("Allowed in this session", self.style("t2", bold=True))])]
        if not now.granted:
            rows.append(self.line(width, [("  nothing", self.style("t3"))]))
        for at, rule in enumerate(now.granted, len(GRID)):
            self._row_of[at] = len(rows)
            chosen, ground = self._ground(at)
            mark = f"{self.looks.symbols.chosen} " if chosen else "  "
            for number, piece in enumerate(wrap(clean_line(rule, reveal=True), width - 2)):
                left: list[Part] = [
                    (mark if number == 0 else "  ", self.style("accent", ground)),
                    (piece, doing(self.style(ground=ground), f"choose {at}")),
                ]
                rows.append(self.line(width, left, ground=ground))
        return rows

    def _file_rules(self, width: int) -> list[Strip]:
        rows = [self.line(width, [("Rules of files", self.style("t2", bold=True))])]
        if self._fault:
            rows += [
                self.line(width, [("  " + piece, self.style("error"))])
                for piece in wrap(self._fault, width - 2)
            ]
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
                rows += [
                    self.line(width, [(f"    {piece}", self.style("t3"))])
                    for piece in wrap(source, width - 4)
                ]
        return rows

    def _ground(self, at: int) -> tuple[bool, Role]:
        chosen = at == self.chosen
        return chosen, "selection" if chosen else "s3"

    def redraw(self, *, keep: bool = True) -> None:
        self.chosen = min(self.chosen, len(self.choices) - 1)
        super().redraw(keep=keep)
        row_at = self._row_of.get(self.chosen)
        if row_at is not None:
            self.call_after_refresh(self._body.reveal, row_at)

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
