"""The four answers of an approval, in their fixed order.

Invariant: an answer that is not offered stays in sight and says why; a rule of any length takes two rows at most, while it
is edited four.
"""

from typing import TYPE_CHECKING, Literal

from textual.strip import Strip

from tui_agent.tui.text import clean, fit
from tui_agent.tui.theme.theme import Role
from tui_agent.tui.widgets.rows import Part, doing, wrap

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
_BESIDE = 27
_SHOWS_IT = "E shows it"
_EITHER = "not offered either"
_MOST = 2
_TYPED = 4
_NARROW = 38


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
            (_WORDS[answer].ljust(_BESIDE - 5), words),
        ]
        room = max(4, width - _BESIDE)
        if sheet.field_of(answer) is not None:
            first, *others = _typed(sheet, answer, room, ground)
            rows.append(sheet.line(width, [*left, *first], ground=ground))
            rows += [sheet.line(width, [(" " * _BESIDE, fill), *one], ground=ground) for one in others]
            continue
        said = doing(sheet.style("t2" if choice.offered else "t3", ground), wish)
        reach, *more = _reach(sheet, answer, room)
        rows.append(sheet.line(width, [*left, (reach, said)], ground=ground))
        rows += [sheet.line(width, [(" " * _BESIDE, fill), (one, said)], ground=ground) for one in more]
    return rows


def typed_row(sheet: "Approval", width: int) -> Strip:
    """What is typed alone, for the smallest screens."""
    key: Part = (f"{sheet.chosen.upper()} ", sheet.style("accent", "selection", bold=True))
    return sheet.line(width, [key, *_typed(sheet, sheet.chosen, max(1, width - 2), "selection", most=1)[0]])


def _typed(
    sheet: "Approval", answer: Answer, room: int, ground: Role, most: int = _TYPED
) -> list[list[Part]]:
    """What is typed, in as many rows as it needs: a rule is kept as it stands, so that all of it is to be in sight."""
    field = sheet.field_of(answer)
    assert field is not None
    hint = "a word to the agent; Enter sends it" if answer == "n" else "the rule"
    fill, cursor = doing(sheet.style(ground=ground), f"answer {answer}"), sheet.style("on-accent", "accent")
    if most == 1 or not field.text:
        return [field.parts(room, fill, cursor, hint, sheet.style("t3", ground))]
    return field.rows(room, fill, cursor, most)


def _reach(sheet: "Approval", answer: Answer, room: int) -> list[str]:
    """What the answer reaches, in one row or two; a rule that needs more is cut and says how to see it."""
    choice = sheet.choice(answer)
    exact = choice.rule.startswith("allow exact ") and bool(choice.why)
    said = choice.rule if choice.offered and not exact else choice.why or "not offered"
    above = sheet.choice("s")
    if answer == "a" and not (sheet.gated or choice.offered or above.offered) and choice.why == above.why:
        said = _EITHER  # for the same reason, which stands above
    ascii_only = sheet.looks.symbols.name == "ascii"
    line = clean(said, reveal=True).replace("\n", "\\n" if ascii_only else "⏎")
    if room < _NARROW:
        line = line.replace("not offered for ", "not for ", 1)
    pieces = wrap(line, room)
    if len(pieces) <= _MOST + (not choice.offered):
        return pieces
    ellipsis = sheet.looks.symbols.ellipsis
    hint = f" {_SHOWS_IT}" if answer == "a" and "edit_rule" not in sheet.without else ""
    cut = fit(" ".join(pieces[_MOST - 1 : _MOST + 1]), max(1, room - len(hint)), ellipsis)
    return [*pieces[: _MOST - 1], cut + hint]


def answers_in_one(sheet: "Approval", width: int) -> Strip:
    """All answers in one row, for the smallest screens; before all was in sight, how to get there."""
    left: list[Part] = []
    answers = ANSWERS
    if sheet.gated:
        word = " reads on" if width >= 16 else ""
        left = [
            ("Space", sheet.style("accent", bold=True)),
            (word, sheet.style()),
            ("  "[: width - 6], sheet.style()),
        ]
        answers = ("n",)
    for answer in answers:
        chosen = answer == sheet.chosen
        offered = sheet.choice(answer).offered
        ground: Role = "selection" if chosen else "s3"
        wish = f"answer {answer}"
        left.append(
            (answer.upper(), doing(sheet.style("accent" if offered else "t3", ground, bold=True), wish))
        )
        if width >= 34 or (sheet.gated and width >= 20):
            left.append((f" {_SHORT[answer]}", doing(sheet.style("t1" if offered else "t3", ground), wish)))
        left.append(("  ", sheet.style()))
    return sheet.line(width, left)
