"""Foreign text reaches the screen through the boundary alone: the few places that make cells, and the few that write."""

import ast
from collections.abc import Callable, Iterator

import pytest

from tests.architecture.source import Source, dotted_name, product

CELLS = {
    "tui_agent/tui/widgets/rows.py": "rows of parts; every text goes through `cell_text`",
    "tui_agent/tui/transcript/styled_rows.py": "rows of runs; every text goes through `cell_text`",
    "tui_agent/tui/theme/scrollbar.py": "signs of its own only",
    "tui_agent/tui/screens/search_page.py": "joins rows that were made by `row`",
}
"""Who may make segments and strips, and why that is safe."""

SEQUENCES = {
    "tui_agent/tui/terminal/terminal.py": "title, notice and clipboard, each cleaned or coded",
    "tui_agent/tui/untrusted_text.py": "the boundary: what it looks for",
    "tui_agent/tui/transcript/output_rows.py": "the colours and links that it takes out of a program's output",
    "tui_agent/tui/terminal/keyboard.py": "asks the terminal for its keys",
    "tui_agent/folds/text/plain_text.py": "what it takes out of a program's output",
    "tui_agent/mcp/content/outside_text.py": "what it takes out of the text of a server",
    "tui_agent/cli/console/output.py": "colour of its own",
    "tui_agent/cli/themes.py": "colour of its own",
    "tui_agent/export/export_content.py": "what it takes out of a text",
}
"""Who may name a control sequence."""

PRINTERS = {
    "tui_agent/cli/console/output.py": "the door: `say`, `say_json`, `table`",
    "tui_agent/cli/main.py": "one line about a fault, cleaned; nothing of the rest may be loaded for it",
    "tui_agent/cli/run/supervisor.py": "passes on what was printed, whole",
    "tui_agent/cli/redact.py": "a filter: its output is its input but for secrets",
    "tui_agent/cli/run/command.py": "JSON, escaped by `record_json`",
    "tui_agent/cli/sessions/command.py": "JSON escaped by `plain_json`, and lines cleaned by `printable`",
    "tui_agent/cli/run/part_printer.py": "a line cleaned by `printable`",
    "tui_agent/cli/themes.py": "colour values that were validated",
    "tui_agent/cli/run/prompt_and_signals.py": "a constant sentence, from a signal handler, where nothing else may run",
    "tui_agent/__main__.py": "the version",
}
"""Who may write to standard output or error, and how it is cleaned."""

MARKUP = {"from_markup", "from_ansi", "from_text", "render_markup"}
WIDGETS = {"TextArea"}
TELLS = {"tooltip", "border_title", "border_subtitle", "sub_title"}


def screens() -> list[Source]:
    return [one for one in product() if one.name.startswith("tui_agent/tui/")]


def places(sources: list[Source], found: Callable[[ast.AST], bool]) -> Iterator[str]:
    for source in sources:
        for node in source.nodes:
            if found(node):
                yield f"{source.name}:{getattr(node, 'lineno', 1)}"


def called(node: ast.AST) -> str:
    """The last name of what is called."""
    if not isinstance(node, ast.Call):
        return ""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def whole(node: ast.AST) -> str:
    return dotted_name(node.func) if isinstance(node, ast.Call) else ""


def files(found: Iterator[str]) -> set[str]:
    return {place.rpartition(":")[0] for place in found}


def test_cells_are_made_in_few_places() -> None:
    made = files(places(screens(), lambda node: whole(node) in {"Segment", "Strip", "Segments"}))
    assert made <= set(CELLS), made - set(CELLS)
    assert set(CELLS) <= made, "no longer needed"


@pytest.mark.parametrize(
    "name",
    [
        "tui_agent/tui/widgets/rows.py",
        "tui_agent/tui/transcript/styled_rows.py",
    ],
)
def test_who_makes_cells_of_foreign_text_takes_it_through_the_last_door(name: str) -> None:
    [source] = [one for one in screens() if one.name == name]
    assert "cell_text(" in source.text


def test_content_and_rich_text_are_made_by_the_boundary_alone() -> None:
    makes = {"Content", "Content.styled", "Content.assemble", "Text", "Text.assemble"}
    assert files(places(screens(), lambda node: whole(node) in makes)) <= {"tui_agent/tui/untrusted_text.py"}


def test_nothing_is_read_as_markup() -> None:
    def markup(node: ast.AST) -> bool:
        if called(node) in MARKUP and not whole(node).endswith("Color.from_ansi"):
            return True
        return isinstance(node, ast.keyword) and node.arg == "markup"

    assert not list(places(screens(), markup))


def test_no_ready_made_widget_draws_text() -> None:
    found = [
        f"{source.name}:{node.lineno}: {name.name}"
        for source in screens()
        for node in source.nodes
        if isinstance(node, ast.ImportFrom) and node.module == "textual.widgets"
        for name in node.names
        if name.name not in WIDGETS
    ]
    assert not found
    assert not [one.name for one in screens() if "import textual.widgets" in one.text]


def test_neither_tooltips_nor_titles_nor_notices_of_the_library_are_used() -> None:
    def tells(node: ast.AST) -> bool:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return any(isinstance(one, ast.Attribute) and one.attr in TELLS for one in targets)
        return called(node) == "notify" and not whole(node).endswith("terminal.notify")

    assert not list(places(screens(), tells))


@pytest.mark.slow
def test_control_sequences_are_named_in_few_places() -> None:
    def sequence(node: ast.AST) -> bool:
        text = node.value if isinstance(node, ast.Constant) else ""
        if isinstance(text, bytes):
            text = text.decode("latin-1")
        return isinstance(text, str) and any(
            one in text for one in ("\x1b", "\x9b", "\\x1b", "\\x9b", "\x07")
        )

    found = files(places(list(product()), sequence))
    assert found <= set(SEQUENCES), found - set(SEQUENCES)
    assert set(SEQUENCES) <= found, set(SEQUENCES) - found


def test_commands_print_through_one_door() -> None:
    def prints(node: ast.AST) -> bool:
        name = whole(node)
        return name == "print" or name.endswith(
            ("stdout.write", "stderr.write", "print_exception", "print_exc", "os.write")
        )

    commands = [one for one in product() if one.name.startswith(("tui_agent/cli/", "tui_agent/__main__"))]
    found = files(places(commands, prints))
    assert found <= set(PRINTERS), found - set(PRINTERS)
    assert set(PRINTERS) <= found, set(PRINTERS) - found
