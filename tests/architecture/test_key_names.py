"""Texts name the key that the user's key map has: no text in the code contains the name of a key."""

import ast
import re

from tests.architecture.source import Source, product

KEY = re.compile(
    r"(?<![\w.`])(?:(?:Ctrl|Alt|Shift)\+[\w/]+|F\d{1,2}|Esc|Tab|PgUp|PgDn|Backspace"
    r"|(?<=\w )(?:Enter|Up|Down)|Enter(?= (?:sends|try|to|again|or|and|on|goes|shows)))(?!\w)"
)
"""The name of a key. `Enter` and `Up` at the start of a sentence are words unless what follows says otherwise."""
EXCEPTIONS = {
    "tui_agent/tui/keys_and_commands.py": "how keys are printed",
    "tui_agent/cli/deploy.py": "the terminal's own key for an interrupt",
    "tui_agent/cli/serve.py": "the terminal's own key for an interrupt",
}
"""Files with names of keys, and why. This list may only shrink."""


def key_names(source: Source) -> list[str]:
    statements = (node.value for node in source.nodes if isinstance(node, ast.Expr))
    docstrings = {id(value) for value in statements if isinstance(value, ast.Constant)}
    return [
        f"{source.name}:{node.lineno}: {node.value[:80]!r}"
        for node in source.nodes
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in docstrings
        and KEY.search(node.value)
    ]


def test_no_text_contains_the_name_of_a_key() -> None:
    found = {source.name: key_names(source) for source in product()}
    assert [line for name, lines in found.items() if name not in EXCEPTIONS for line in lines] == []
    assert [name for name in EXCEPTIONS if not found[name]] == [], "no longer needed"


def test_the_check_sees_names_of_keys_and_no_other_words() -> None:
    named = ("Esc stops it.", "press Enter to try again", "Enter sends it", "Ctrl+C quits", "F1 shows help")
    assert [text for text in named if not KEY.search(text)] == []
    plain = ("Enter the new text.", "Up to 5 files", "Table", "F", "UTF8", "Escape the name")
    assert [text for text in plain if KEY.search(text)] == []
