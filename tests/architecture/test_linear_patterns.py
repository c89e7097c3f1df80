"""No regular expression of the product takes more than linear time, whatever text it meets.

Each is fed all attacks of `tests.stubs.pattern_attacks`, those that seem slow at up to 300,000 characters,
until their time grows as their length does. A pattern that only ever meets short texts is fed as much as it can meet (`BOUNDS`).
"""

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from plugins.shell.pass_fail_counts import read_counts
from tests.stubs.pattern_attacks import find_slow_attack
from tests.stubs.rows import rows
from tui_agent.engine import delta_merge
from tui_agent.models.tool_call_repair import text_call
from tui_agent.policy.bash import cursor, loose_reading

ROOT = Path(__file__).resolve().parents[2]
CHARS = 300_000
METHODS = frozenset({"search", "match", "fullmatch", "sub", "subn", "finditer", "findall", "split"})
BOUNDS: dict[str, tuple[int, str]] = {
    "tui_agent.context.repomap.question_topic:_HEADING": (120, "longer lines are no headings"),
    "tui_agent.engine.delta_merge:": (delta_merge.MAX_HELD_CHARS, "more is not held back"),
    "tui_agent.models.provider_faults:'<[^>]*>|\\\\s+'": (2_000, "the rest of an error page is cut first"),
    "tui_agent.store.redaction.examples:": (2_000, "an example of a rule"),
    "tui_agent.policy.bash.": (cursor.MAX_CHARS, "a longer line is refused"),
    "tui_agent.policy.decision.": (loose_reading.MAX_CHARS, "a longer line is refused"),
    "tui_agent.policy.interpreter.": (cursor.MAX_CHARS, "a longer line is refused"),
}
"""Beginnings of names of patterns that meet short texts only: the most characters, and why."""
MATCHED_WHERE_IT_STANDS = ("tui_agent.policy.bash.", "tui_agent.policy.interpreter.languages.")
"""Modules that hand their patterns to a cursor, which matches them at its position."""
A_TEXT, ON_ONE_LINE = "a text, escaped", "on one line, from its beginning"
DYNAMIC = {
    "plugins.files.edit_file: pattern": "lines of text, escaped",
    "plugins.files.edit_file: re.escape(old)": A_TEXT,
    r"plugins.shell.pass_fail_counts: f'(?<!\\d)(\\d++) ({words})\\b'": "below, with its reader",
    "plugins.shell.pass_fail_counts: pattern": "below, with its reader",
    r"tui_agent.context.init_guide: f'(?<![\\w-]){re.escape(core)}(?![\\w-])'": A_TEXT,
    r"tui_agent.context.repomap.symbol_names: f'\\b{re.escape(owner)}\\b'": A_TEXT,
    "tui_agent.context.repomap.search_without_index: re.escape(sought) + b'(?![0-9])'": A_TEXT,
    r"tui_agent.mcp.servers: f'\\b{re.escape(settings.name)}\\b'": A_TEXT,
    r'''tui_agent.policy.catalog.catalog_entry: f"""(?:^|[\\[.{{,\\s])["']?{re.escape(key)}["']?\\s*[\\].=]"""''': A_TEXT,
    "tui_agent.tui.modals.exact_command: f'(?<=[^ ]) {{{inner + 1},}}+'": "possessive",
    "tui_agent.tui.modals.exact_command: f'^ {{{indent + 1},}}+'": "possessive",
    "tui_agent.tui.prompt.completion_files: start + rest": "each line is a path, of 4,096 bytes at most",
    "tui_agent.tui.screens.sessions.session_table: f'({pattern})'": "texts, escaped",
    r'''tui_agent.workspace.sandbox.command_run: f"^.*failed to remove '?(?:{names})\\b.*$"''': ON_ONE_LINE,
    r'''tui_agent.workspace.sandbox.denials: f"""(?<![^\\s'\\"`‘“])([^\\s'\\"`‘“]*/)?{re.escape(name)}/?(?![^\\s'\\"`’”:])"""''': "it begins only where a word begins, and each / of the word is tried once",
    r"tui_agent.workspace.sandbox.denials: f'(?<![\\w.-]){re.escape(name)}(?![\\w.-])'": A_TEXT,
    "tui_agent.workspace.sandbox.denials: pattern": "a name, escaped, and the rest of its path: nothing follows that could fail",
    r'''tui_agent.workspace.sandbox.output_notes: f"(?:^|(?<!:)[\\s/]){re.escape(name)}$|[ \\t/]{re.escape(name)}/$|'{re.escape(name)}'"''': A_TEXT,
    r'''tui_agent.workspace.sandbox.output_notes: f"failed to remove '?{re.escape(name)}\\b"''': A_TEXT,
    r"tui_agent.workspace.sandbox.output_notes: f'^(?: ?[MADT]{{1,2}} |[ \\t]*+modified:[ \\t]+){re.escape(name)}$'": ON_ONE_LINE,
    r"tui_agent.workspace.sandbox.output_notes: f'^(?:d[rwx-]{{9}}.* |\\S*/)?{re.escape(name)}/?$'": ON_ONE_LINE,
}
"""Calls of `re` with a pattern that is made there: why it is linear."""


class Use(NamedTuple):
    """A pattern and a way in which it is used."""

    name: str
    pattern: "re.Pattern[Any]"
    method: str


def modules() -> Iterator[tuple[str, str]]:
    """Yield the name and the source of each module that imports `re`."""
    for folder in ("tui_agent", "plugins"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            text = path.read_text()
            if "import re" in text and re.search(r"^(?:import re|from re import)\b", text, re.MULTILINE):
                name = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
                yield name, text


@cache
def uses() -> tuple[list[Use], list[str]]:
    """Return all uses of patterns, and the calls of `re` whose pattern is not a constant."""
    known: list[Use] = []
    dynamic: list[str] = []
    for name, text in modules():
        module = importlib.import_module(name)
        methods: dict[str, set[str]] = {}
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            method, owner = node.func.attr, node.func.value
            if isinstance(owner, ast.Call) and not owner.args:
                owner = owner.func  # a function that compiles its pattern at first use
            if method not in METHODS or not isinstance(owner, ast.Name):
                continue
            if owner.id != "re":
                methods.setdefault(owner.id, set()).add(method)
            elif isinstance(node.args[0], ast.Constant):
                flags = [part.attr for part in ast.walk(node) if isinstance(part, ast.Attribute)]
                combined = 0
                for flag in ("MULTILINE", "IGNORECASE", "DOTALL", "M", "I", "S"):
                    combined |= getattr(re, flag) if flag in flags else 0
                source = node.args[0].value
                known.append(Use(f"{name}:{source!r}", re.compile(source, combined), method))
            else:
                dynamic.append(f"{name}: {ast.unparse(node.args[0])}")
        for variable, value in vars(module).items():
            if getattr(value, "__annotations__", None) == {"return": re.Pattern[str]}:
                value = value()
            for index, pattern in enumerate(value if isinstance(value, tuple | list) else [value]):
                if isinstance(pattern, re.Pattern):
                    label = f"{name}:{variable}" + (f"[{index}]" if pattern is not value else "")
                    is_matched = pattern is not value or name.startswith(MATCHED_WHERE_IT_STANDS)
                    used = methods.get(variable) or ({"match"} if is_matched else {"finditer"})
                    known += [Use(label, pattern, method) for method in sorted(used)]
    return known, dynamic


PACKAGES = sorted({".".join(name.split(".")[:2]) for name, _ in modules()})


def test_every_pattern_is_known() -> None:
    known, dynamic = uses()
    assert len(known) > 300
    assert sorted(set(dynamic)) == sorted(DYNAMIC)
    assert all(any(use.name.startswith(name) for use in known) for name in BOUNDS)


@pytest.mark.slow
@pytest.mark.timeout(200)
@pytest.mark.parametrize("package", PACKAGES)
def test_its_worst_case_takes_linear_time(package: str) -> None:
    slow = {}
    for use in uses()[0]:
        if f"{use.name}.".startswith(f"{package}.") or use.name.startswith(f"{package}:"):
            bound = next((chars for name, (chars, _) in BOUNDS.items() if use.name.startswith(name)), 0)
            attack = find_slow_attack(use.pattern, use.method, bound or CHARS, bound=bool(bound))
            if attack is not None:
                slow[use.name] = attack
    assert slow == {}


@pytest.mark.slow
@rows(
    "source, method",
    [(r" +$", "search"), (r"(?:a|b)*c", "finditer"), (r"(a+)+b", "match"), (r"\s*\n\s*x", "match")],
)
def test_a_pattern_that_is_not_linear_is_noticed(source: str, method: str) -> None:
    assert find_slow_attack(re.compile(source), method, 8_000) is not None


@rows("source, method", [(r" ++$", "match"), (r"[ab]*+c", "match"), (r"\w+", "finditer")])
def test_a_linear_pattern_is_not_slow(source: str, method: str) -> None:
    assert find_slow_attack(re.compile(source), method, CHARS) is None


OUTPUTS = [
    "\n",
    "0",
    "Tests: 0",
    "test a",
    " ... FAILED",
    "Tests  0 (0",
    " FAIL [",
    "not ok 1 - (0",
    "1) a",
    "▶ a (0ms) # TODO",
    "✖ a\n",
    "OK a",
    "FAILED (failures=0",
]


@pytest.mark.slow_variants
@pytest.mark.parametrize("framework", ["pytest", "unittest", "cargo", "go", "npm"])
def test_the_output_of_tests_is_read_in_linear_time(framework: str) -> None:
    endings = "\ntest result: ok. 1 passed; 0 failed; 0 ignored\nTests: 1 passed, 1 total\n1 tests run: 1 passed\nRan 1 test in 1s\nOK\n"
    for piece in OUTPUTS:
        for ending in (endings, "\n# pass 1\n# fail 1\n", "\n1 passing\n1 failing\n"):
            assert read_counts(framework, piece * (CHARS // len(piece)) + ending).passed <= 1


def test_a_call_is_read_out_of_an_answer_in_linear_time() -> None:
    call = '{"name": "run_command", "arguments": {"command": "ls"}}'
    for filling in ("```\n", "```", "\n", "``` \n", "<tool_call>", "{", "{}", '{"a":', "x"):
        text = filling * (CHARS // len(filling))
        assert text_call(text, ("run_command",)) is None
        assert text_call(f"{text}\n```json\n", ("run_command",)) is None
    fenced = f"Some words.\n```json\n{call}{' ' * CHARS}\n```{' ' * CHARS}"
    assert text_call(fenced, ("run_command",)) == ("run_command", {"command": "ls"})
