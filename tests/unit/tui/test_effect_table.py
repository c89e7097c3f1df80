"""The table of a command line's effects in an approval: nothing of a command or an effect is cut off."""

from tests.stubs.rows import rows
from tui_agent.protocol.events.policy import CommandEffect
from tui_agent.tui.modals.effect_table import NumberedCommand, command_table
from tui_agent.tui.theme.first_frame import named_theme
from tui_agent.tui.theme.glyphs import UNICODE
from tui_agent.tui.theme.theme import Looks, Palette
from tui_agent.tui.widgets.rows import Pen

LOOKS = Looks(Palette(named_theme("night", {})), UNICODE, motion=False)
EFFECTS = (
    CommandEffect(verb="runs or changes", target="code in this workspace"),
    CommandEffect(verb="network", target="host not known"),
)


@rows("room", [62, 44, 40])
def test_an_effect_with_a_long_verb_is_wrapped_and_not_cut(room: int) -> None:
    command = NumberedCommand(1, "python3 -m http.server 8765 --bind 127.0.0.1", EFFECTS)
    texts = [strip.text for strip in command_table([command], Pen(LOOKS, "s3"), room)]
    words = " ".join(texts).split()
    assert "…" not in "".join(texts)
    for effect in EFFECTS:
        assert all(word in words for word in f"{effect.verb} {effect.target}".split())


def test_text_after_a_long_verb_continues_below_the_verb() -> None:
    commands = [
        NumberedCommand(1, "python -m unittest -v tests/test_more.py", EFFECTS[:1]),
        NumberedCommand(
            2, "cat notes", (CommandEffect(verb="reads", target="the long notes of the whole team"),)
        ),
    ]
    texts = [strip.text.rstrip() for strip in command_table(commands, Pen(LOOKS, "s3"), 60)]
    column = texts[0].index("runs or changes")
    assert texts[0].endswith("runs or changes code in this")
    assert texts[1][column:] == "workspace"
    assert texts[-1][column:].startswith("         ") and texts[-1].endswith("team")
