"""Write docs/keys.md from the table of the app's actions: `python -m docs.generate_keys`."""

from pathlib import Path

from tui_agent.tui.keys_and_commands import Action, groups

PAGE = Path(__file__).parent / "keys.md"


def _describe_alias(action: Action, word: str) -> str:
    meaning = action.meaning_of(word)
    return f"`{word}`" if meaning in (word, action.slash) else f"`{word}` = `{meaning}`"


def page() -> str:
    """Return the text of docs/keys.md."""
    lines = [
        "# Keys and slash commands",
        "",
        "<!-- Written by `python -m docs.generate_keys` from tui_agent/tui/keys_and_commands.py; do not edit. -->",
        "",
        "F1 searches this list in the app.",
        "",
        "Type `/` for the menu of commands, the most used first. Enter runs the selected one; nothing is selected until",
        "you type a letter or press an arrow key. The column *also* lists other words that you can type; where one stands",
        "for more than the command, it says what. Words in capitals are for you to fill in.",
        "",
    ]
    for group, actions in groups().items():
        lines += [
            f"## {group}",
            "",
            "| key | command | action | what it does | also | when |",
            "|---|---|---|---|---|---|",
        ]
        for action in actions:
            slash = f"`{action.slash}{' ' + action.args if action.args else ''}`" if action.slash else ""
            when = "not while a turn runs" if action.ground else {"always": ""}.get(action.when, action.when)
            also = ", ".join(
                _describe_alias(action, word) for word, _ in action.typed_words if word != action.slash
            )
            cells = (action.all_keys, slash.replace("|", "\\|"), f"`{action.name}`", action.help, also, when)
            lines.append("| " + " | ".join(cells) + " |")
        lines.append("")
    lines += [
        "## Your own keys",
        "",
        "Change any of these keys in config.toml, under `[keys]`, with the action's name:",
        "",
        "```toml",
        "[keys]",
        'palette = "ctrl+t"                 # one key',
        'view_close = ["escape", "x"]       # several keys for the same thing',
        'replay_event = ["h", "l"]          # one key for each choice: back, on',
        "```",
        "",
        "An action with several choices needs a key for each of them, in the order of the table. A key that cannot be",
        "used keeps its default, and the app says why when it starts. Letters and signs cannot be used where you type",
        "text. Some keys, such as `ctrl+shift+t` or `ctrl+,`, need a terminal with the kitty keyboard protocol.",
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
