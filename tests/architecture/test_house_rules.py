"""The house rules that a machine can check."""

import ast
import re
import tomllib
from collections.abc import Iterator
from graphlib import TopologicalSorter
from itertools import takewhile
from pathlib import Path

import pytest

from tests.architecture.source import Source, dotted_name, package, plugins, product, tooling

VAGUE_NAMES = {"manager", "helper", "helpers", "util", "utils", "data", "process", "common", "misc"}
ALLOWED_NAMES = {"tui_agent/engine_process.py"}

SUPERVISORS: dict[str, str] = {
    "tui_agent/cli/main.py": "the program's last resort: one line for the user, a traceback with --debug",
    "tui_agent/engine/plugins/forced_stop.py": "raises a plugin's error again, outside the task group that would wrap it",
    "tui_agent/engine/turns/turns.py": "a fault in a turn becomes error.raised; the session goes on serving",
    "tui_agent/folds/screen_folds.py": "a fault of one view is named in `faults` and must not stop the others",
    "tui_agent/plugin_host/error_text.py": "the text of a plugin's error is computed by the plugin; without it the name of the error stays",
    "tui_agent/plugin_host/parallel_calls.py": "a broken plugin is reported as plugin.failed and the app lives",
    "tui_agent/mcp/server_runner.py": "whatever a server or the SDK raises is named as plugin.failed, and the session goes on",
    "tui_agent/tui/controller/screen_errors.py": "a part of the screen that breaks is told, and the others are shown",
    "tui_agent/tui/screens/replay/moment_screen.py": "a part of a replay that breaks is reported, and the others are shown",
    "tui_agent/tui/controller/event_pump.py": "what fails in showing one frame is told, and the next one comes",
}
"""Files that may catch `Exception`, each with its reason."""

BROAD = {"Exception", "BaseException"}

OUR_WORDS = re.compile(
    r"(?<![A-Za-z])(?:step|steps|cycle|cycles)(?![A-Za-z])|(?<=_)(?:step|cycle)s?\b|\b(?:step|cycle)s?(?=_)"
)
ALLOWED_WORDS = re.compile(
    r"no cycles|reference cycles?|[Ss]tep(?:s|ped|ping)? over|Agent\.step|agent's step|\.step\b|def step\(|step_budget|`step`|async def step|itertools\.cycle"
    r'|"(?:steps|step_id|total_steps)": |"step_finish"'
)
"""The method of an agent, other meanings of the words, the keys of ATIF documents, and an event of opencode."""


def where(source: Source, node: ast.AST) -> str:
    return f"{source.name}:{getattr(node, 'lineno', 1)}"


def test_no_module_has_a_vague_name() -> None:
    parts = {source.name: set(re.split(r"[/_.]", source.name)) for source in product()}
    assert not [name for name, words in parts.items() if words & VAGUE_NAMES and name not in ALLOWED_NAMES]


def test_every_module_says_what_it_is() -> None:
    assert not [source.name for source in product() if not ast.get_docstring(source.tree)]


def test_every_package_has_a_layer() -> None:
    contracts = tomllib.loads(Path("pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["name"] == "layers")
    named = set(re.findall(r"tui_agent\.(\w+)", " ".join(layers)))
    folders = {source.name.split("/")[1] for source in package() if source.name.count("/") > 1}
    assert not sorted(folders - named - {"_bundled"})


def test_there_are_few_top_level_packages() -> None:
    folders = {source.name.split("/")[1] for source in package() if source.name.count("/") > 1}
    assert len(folders - {"_bundled"}) <= 21


def broad_handlers(source: Source) -> Iterator[str]:
    """Where everything is caught and the handler does not end by raising (again, or translated)."""
    for node in source.nodes:
        if isinstance(node, ast.ExceptHandler) and not isinstance(node.body[-1], ast.Raise):
            named = node.type.elts if isinstance(node.type, ast.Tuple) else [node.type]
            if any(n is None or (isinstance(n, ast.Name) and n.id in BROAD) for n in named):
                yield where(source, node)


def test_no_files_import_one_another_in_a_circle() -> None:
    """Imports inside functions and for type checkers count too."""
    modules = {source.name.removesuffix(".py").replace("/", "."): source for source in product()}
    imports = {
        name: {imported for imported, _ in source.imports if imported in modules and imported != name}
        for name, source in modules.items()
    }
    TopologicalSorter(imports).prepare()


def test_only_supervisors_catch_every_exception() -> None:
    assert not [
        place for source in product() if source.name not in SUPERVISORS for place in broad_handlers(source)
    ]


def test_every_named_supervisor_still_is_one() -> None:
    listed = [source for source in product() if source.name in SUPERVISORS]
    assert {source.name for source in listed if any(broad_handlers(source))} == set(SUPERVISORS)


def test_no_task_is_started_outside_a_task_group() -> None:
    bare = {"create_task", "ensure_future", "run_coroutine_threadsafe"}

    def started(source: Source) -> Iterator[str]:
        for node in source.nodes:
            if isinstance(node, ast.Call):
                name = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                if name in bare:
                    yield where(source, node)

    assert not [place for source in product() for place in started(source)]


def test_nothing_prints_outside_the_command_line() -> None:
    def prints(source: Source) -> Iterator[str]:
        for node in source.nodes:
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in {"print", "input"}
            ):
                yield where(source, node)

    allowed = ("tui_agent/cli/", "tui_agent/__main__.py")
    assert not [
        place for source in product() if not source.name.startswith(allowed) for place in prints(source)
    ]


def test_turns_iterations_and_parts_have_no_other_names() -> None:
    found = []
    for source in product():
        for number, line in enumerate(source.text.splitlines(), 1):
            if OUR_WORDS.search(ALLOWED_WORDS.sub("", line)):
                found.append(f"{source.name}:{number}: {line.strip()}")
    assert not found


def test_plugins_import_only_the_plugin_api() -> None:
    found = [
        f"{source.name}:{line}: {module}"
        for source in plugins()
        for module, line in source.imports
        if module.split(".")[0] == "tui_agent" and module != "tui_agent.plugin_api"
    ]
    assert not found


def doubtful_calls(source: Source) -> Iterator[str]:
    """Calls that patch a module of ours by its name, and calls of `time.sleep`."""
    for node in source.nodes:
        if isinstance(node, ast.Call):
            called = dotted_name(node.func)
            first = node.args[0] if node.args else None
            ours = isinstance(first, ast.Constant) and str(first.value).startswith("tui_agent")
            if called == "time.sleep" or (ours and called.endswith(("patch", "setattr"))):
                yield where(source, node)


@pytest.mark.slow
def test_tests_neither_patch_our_modules_nor_sleep() -> None:
    tests = [source for source in tooling() if source.name.startswith("tests/")]
    assert not [place for source in tests for place in doubtful_calls(source)]


def test_no_handler_of_the_screen_calls_its_base() -> None:
    """Textual calls a handler of each class by itself, the subclass's first: one that called its base's was carried out
    twice. A key that was taken (`takes`) goes to no other class, and the app's own `on_event` is no handler."""
    called = [
        where(source, node)
        for source in package()
        if source.name.startswith("tui_agent/tui/")
        for node in source.nodes
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr.startswith("on_")
        and node.func.attr not in ("on_event", "on_key")
        and ast.unparse(node.func.value) == "super()"
    ]
    assert not called


PLAIN_VALUES = {"config", "environ", "looks", "options", "path", "state", "views"}
"""Attributes with plain data: a path that goes on from them reaches into no other object."""


def long_paths(source: Source) -> Iterator[str]:
    """Attribute paths of four names or more, without `self` and without what is read from plain data."""
    for node in source.nodes:
        if isinstance(node, ast.Attribute):
            names = dotted_name(node).removeprefix("self.").split(".")
            through = list(takewhile(lambda name: name not in PLAIN_VALUES, names))
            if len(through) >= 4 and all(map(str.isidentifier, names)):
                yield f"{where(source, node)}: {'.'.join(names)}"


def test_the_controller_and_the_commands_reach_through_no_other_object() -> None:
    folders = ("tui_agent/tui/controller/", "tui_agent/tui/commands/")
    sources = [source for source in package() if source.name.startswith(folders)]
    assert not [path for source in sources for path in long_paths(source)]
