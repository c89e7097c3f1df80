"""Figures in texts are formatted only by `tui_agent.units`, so that each kind of figure looks the same everywhere."""

import ast
import re
from collections.abc import Iterable, Iterator

from tests.architecture.source import product

SPEC = re.compile(r"[,.%]")
"""A format with thousands separators, a number of decimals, or a percent sign."""
UNIT = re.compile(r" (?:s|ms|min|seconds?|minutes?|hours?|bytes|B|Ki?B|Mi?B|GB|percent)(?![\w(])| ?%(?!\w)")
RAW_NAME = re.compile(r"(?:_|^)(?:tokens|bytes|usd|ms)$")
CLOCK_METHODS = frozenset({"strftime", "isoformat"})
EXCEPTIONS = {
    "tui_agent/acp/editor_agent.py": "a time in a protocol",
    "tui_agent/export/atif.py": "a time in a data format",
    "tui_agent/export/trajectory/builder.py": "a time in a data format",
    "tui_agent/export/html/page.py": "attributes of elements",
    "tui_agent/export/html/entry_rows.py": "an attribute of an element",
    "tui_agent/tui/controller/screen_errors.py": "a time in a file that the bug report reads",
    "tui_agent/mcp/servers.py": "a number in a file that is read again",
    "tui_agent/cli/query.py": "a cell of any column of an SQL result",
    "tui_agent/tui/theme/theme.py": "a contrast",
    "tui_agent/cli/themes.py": "a contrast",
    "tui_agent/store/redaction/rule.py": "an entropy",
    "tui_agent/evals/report/significance.py": "a probability",
}
"""Files with another formatting, and what they format. This list may only shrink."""


def formatted_by_hand(nodes: Iterable[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the line and the source of each figure that is formatted without `tui_agent.units`."""
    for node in nodes:
        if isinstance(node, ast.Attribute) and node.attr in CLOCK_METHODS:
            yield node.lineno, ast.unparse(node)
        if not isinstance(node, ast.JoinedStr):
            continue
        for value, following in zip(node.values, [*node.values[1:], None], strict=True):
            if not isinstance(value, ast.FormattedValue):
                continue
            spec = ast.unparse(value.format_spec)[2:-1] if value.format_spec is not None else ""
            text = following.value if isinstance(following, ast.Constant) else ""
            name = value.value.attr if isinstance(value.value, ast.Attribute) else ""
            if SPEC.search(spec) or UNIT.match(str(text)) or RAW_NAME.search(name):
                yield value.lineno, ast.unparse(value.value)


def test_figures_are_formatted_by_one_module() -> None:
    found = {
        source.name: [f"{source.name}:{line}: {text}" for line, text in formatted_by_hand(source.nodes)]
        for source in product()
        if source.name != "tui_agent/units.py"
    }
    assert [line for name, lines in found.items() if name not in EXCEPTIONS for line in lines] == []
    assert [name for name in EXCEPTIONS if not found[name]] == [], "no longer needed"


def test_the_check_sees_each_form() -> None:
    sources = (
        'f"{n:,}"', 'f"{n:.1f}"', 'f"{n:.0%}"', 'f"{n:,.0f}"', 'f"{n // 1000} MB"', 'f"{n} s"', 'f"{n:g} s"',
        'f"{usage.input_tokens} in"', "time.strftime('%H:%M')", "moment.isoformat()",
    )  # fmt: skip
    assert [source for source in sources if not list(formatted_by_hand(ast.walk(ast.parse(source))))] == []
    plain = ('f"{n} files"', 'f"{n:>6}"', 'f"{n:05d}"', 'f"{format_tokens(n)} tokens"', 'f"{name}s"')
    assert [source for source in plain if list(formatted_by_hand(ast.walk(ast.parse(source))))] == []
