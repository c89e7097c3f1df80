"""Colours and short descriptions of the policies, and the row that shows the policy below the message editor.

Invariant: a policy's name is always shown with its colour.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from textual.strip import Strip

from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.lists import LinePane
from tui_agent.tui.widgets.rows import Part, Pen, cells

if TYPE_CHECKING:  # loaded after the first paint
    from tui_agent.protocol.settings import UserPolicy

ROLES: dict[str, Role] = {"plan": "success", "ask": "accent", "accept-edits": "warning", "bypass": "error"}
DESCRIPTIONS: dict[str, str] = {
    "plan": "only reads, then proposes a plan",
    "ask": "asks before writing or running",
    "accept-edits": "edits, runs in the sandbox",
    "bypass": "asks when unsure or when a rule says so",
}
"""Maps a policy to its description, the strictest policy first."""
# Without `bypass`, so that a key pressed once too often never selects it.
KEY_POLICIES: Final[tuple["UserPolicy", ...]] = ("plan", "ask", "accept-edits")
"""The policies that the action `next_policy` goes through, in this order."""
UNCONFINED: dict[str, str] = {"accept-edits": "edits, asks before running"}
"""Maps a policy to its description if commands run without a sandbox. Other policies have the same description."""
PROGRAM_RULES: dict[str, str] = {
    "plan": "may only read",
    "ask": "may only read",
    "accept-edits": "follows its own rules",
    "bypass": "may do everything",
}
"""Maps a policy to its description for an agent that is an external program."""
COLUMNS: tuple[str, ...] = ("read", "edit", "remove", "run", "network", "outside")
"""The columns of the table of policies, one for each kind of action.

- `run`: a command that does more than read
- `outside`: access to any folder outside the workspace
"""
GRID: dict[str, tuple[str, ...]] = {
    "plan": ("yes", "no", "no", "no", "no", "no"),
    "ask": ("yes", "asks", "asks", "asks", "asks", "asks"),
    "accept-edits": ("yes", "yes", "asks*", "sandbox", "asks", "asks"),
    "bypass": ("yes", "yes", "yes", "yes", "yes", "yes"),
}
"""Maps a policy to its row of the table: one word for each of `COLUMNS`.

- `yes`, `no`, `asks`: the action is allowed, refused, or needs the user's answer
- `sandbox`: `yes` if commands run in a sandbox, otherwise `asks`
- `asks*`: `asks`, with the footnote `RESTORABLE`
"""
RESTORABLE: Final = "* only if /undo cannot restore the files that a command names"


def policy_after(name: str) -> "UserPolicy":
    """Return the policy after `name` in `KEY_POLICIES`, wrapping around.

    If `name` is not in `KEY_POLICIES`, return `ask`.
    """
    return KEY_POLICIES[(KEY_POLICIES.index(name) + 1) % len(KEY_POLICIES)] if name in KEY_POLICIES else "ask"


def policy_role(name: str) -> Role:
    return ROLES.get(name, "accent")


def policy_words(name: str, *, unconfined: bool = False, program: str = "") -> str:
    """Return a short description of the policy `name`.

    - `unconfined`: True if commands run without a sandbox
    - `program`: the agent's name, if the agent is an external program
    """
    if program:
        return f"{program} {PROGRAM_RULES.get(name, '')}"
    return UNCONFINED.get(name, DESCRIPTIONS.get(name, "")) if unconfined else DESCRIPTIONS.get(name, "")


class PolicyRow(LinePane):
    """The row below the editor: the policy, and a note such as the cost of the next turn or the effect of Enter."""

    surface = "s2"
    policy: str = ""
    """The policy; empty until it is known."""
    note: str = ""
    mode: str = ""
    words: str = ""
    attached: Sequence[str] = ()
    images: Sequence[str] = ()
    refused: Sequence[str] = ()
    accepts_images = True
    """True if images are sent with the message. False if the model is not known to accept images."""

    def set_attached(self, names: Sequence[str], images: Sequence[str], refused: Sequence[str] = ()) -> None:
        """Show what the message attaches, in place of the policy's description.

        `names`: files, symbols and resources. `images`: image files. `refused`: files that are not sent, e.g.
        secret files.
        """
        if (names, images, refused) != (self.attached, self.images, self.refused):
            self.attached, self.images, self.refused = names, images, refused
            self.show()

    def set_accepts_images(self, accepts_images: bool) -> None:
        """Show that attached images are sent (True), or that they are not (False)."""
        if accepts_images != self.accepts_images:
            self.accepts_images = accepts_images
            self.show()

    def set_texts(self, policy: str, note: str, mode: str = "", words: str = "") -> None:
        """Show the policy, a note, the mode of vim keys, and the description of the policy."""
        if (policy, note, mode, words) != (self.policy, self.note, self.mode, self.words):
            self.policy, self.note, self.mode, self.words = policy, note, mode, words
            self.show()

    def draw(self, width: int, height: int) -> list[Strip]:
        pen = self.pen._replace(margin=1)
        policy = pen.part(self.policy, policy_role(self.policy), bold=True, intent="policy")
        words = pen.part(f"  {self.words or policy_words(self.policy)}", "t3")
        mode = pen.part(f"   {self.mode}" if self.mode else "", "t2")
        right = [pen.part(self.note, "t3")]
        if self.attached or self.images or self.refused:
            right = [] if self.images and not self.accepts_images else right
            return [pen.line(width, [policy, mode, *self._attached_parts(pen)], right)]
        fits = cells([policy, words, mode, *right]) + 2 <= width
        return [pen.line(width, [policy, words, mode] if fits else [policy, mode], right)]

    def _attached_parts(self, pen: Pen) -> list[Part]:
        sent = [*self.attached, *(self.images if self.accepts_images else ())]
        parts = [pen.part("  attaches ", "t2"), pen.part(", ".join(sent))] if sent else []
        if self.refused:
            parts.append(pen.part(f"  not sent: {', '.join(self.refused)}", "warning"))
        if self.images and not self.accepts_images:
            parts += [
                pen.part(f"  not sent: {', '.join(self.images)}", "warning"),
                pen.part(" (model may not accept images)", "t2"),
            ]
        return parts
