"""L7: the four answers of an approval, in their fixed order.

Invariant: an answer that is not offered stays in sight and says why.
"""

from typing import TYPE_CHECKING, Literal

from textual.strip import Strip

from tui_agent.tui.rows import Part, doing, wrap
from tui_agent.tui.text import clean_line
from tui_agent.tui.theme import Role

if TYPE_CHECKING:
    from tui_agent.tui.modals.approval import Approval

Answer = Literal["y", "s", "a", "n"]
ANSWERS: tuple[Answer, ...] = ("y", "s", "a", "n")
_WORDS: dict[Answer, str] = {
    "y": "Yes, this once",
    "s": "Yes, this session",
    "a": "Always, as a rule",
    "n": "No, and say why",
}
_SHORT: dict[Answer, str] = {"y": "once", "s": "session", "a": "always", "n": "no"}


def answer_rows(sheet: "Approval", width: int) -> list[Strip]:
    """A row for each answer with its reach; what has no room beside stands below."""
    rows: list[Strip] = []
    for answer in ANSWERS:
        chosen = answer == sheet.chosen
        ground: Role = "selection" if chosen else "s3"
        choice = sheet.choice(answer)
        wish = f"answer {answer}"
        fill = doing(sheet.style(ground=ground), wish)
        mark = f"{sheet.looks.symbols.chosen} " if chosen else "  "
        key_style = doing(sheet.style("accent" if choice.offered else "t3", ground, bold=True), wish)
        words = doing(sheet.style("t1" if choice.offered else "t3", ground, bold=chosen), wish)
        left: list[Part] = [
            (mark, sheet.style("accent", ground)),
            (answer.upper(), key_style),
            ("  ", fill),
            (_WORDS[answer].ljust(22), words),
        ]
        room = max(4, width - 27)
        field = sheet.field_of(answer)
        if field is not None:
            cursor = sheet.style("on-accent", "accent")
            hint = "a word to the agent; Enter sends it" if answer == "n" else "the rule"
            left += field.parts(room, fill, cursor, hint, sheet.style("t3", ground))
        else:
            exact = choice.rule.startswith("allow exact ") and bool(choice.why)
            said = choice.rule if choice.offered and not exact else choice.why or "not offered"
            pieces = wrap(clean_line(said, reveal=True), room)
            left.append((pieces[0], doing(sheet.style("t2" if choice.offered else "t3", ground), wish)))
            rows.append(sheet.line(width, left, ground=ground))
            rest = doing(sheet.style("t2", ground), wish)
            rows += [
                sheet.line(width, [(" " * 27, fill), (piece, rest)], ground=ground) for piece in pieces[1:]
            ]
            continue
        rows.append(sheet.line(width, left, ground=ground))
    return rows


def answers_in_one(sheet: "Approval", width: int) -> Strip:
    """All answers in one row, for the smallest screens."""
    left: list[Part] = []
    for answer in ANSWERS:
        chosen = answer == sheet.chosen
        offered = sheet.choice(answer).offered
        ground: Role = "selection" if chosen else "s3"
        wish = f"answer {answer}"
        left.append(
            (answer.upper(), doing(sheet.style("accent" if offered else "t3", ground, bold=True), wish))
        )
        if width >= 34:
            left.append((f" {_SHORT[answer]}", doing(sheet.style("t1" if offered else "t3", ground), wish)))
        left.append(("  ", sheet.style()))
    return sheet.line(width, left)
