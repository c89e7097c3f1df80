"""What a start loads, seen in a process of its own: a quick start stays quick only if nobody adds an import."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.architecture.source import product

SLOW = (
    "textual",
    "rich",
    "pydantic",
    "litellm",
    "tiktoken",
    "tree_sitter",
    "httpx",
    "anyio",
    "yaml",
    "watchfiles",
)


def loaded(code: str) -> set[str]:
    """The top-level names of all modules that a fresh interpreter has loaded after `code`."""
    program = f"import json, sys\n{code}\nprint('\\n' + json.dumps(sorted({{m.split('.')[0] for m in sys.modules}})))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    names: list[str] = json.loads(done.stdout.splitlines()[-1])
    return set(names)


def command(*argv: str) -> str:
    return (
        f"sys.argv = ['tui-agent', *{list(argv)!r}]\nfrom tui_agent.__main__ import main\n"
        "try: main()\nexcept SystemExit: pass"
    )


@pytest.mark.parametrize(
    "code",
    [
        "import tui_agent",
        "import tui_agent.__main__",
        "import tui_agent.cli.main",
        command("--version"),
        command("--help"),
    ],
)
def test_starting_the_program_loads_nothing_slow(code: str) -> None:
    assert not loaded(code) & set(SLOW)


def test_version_loads_no_argument_parser() -> None:
    assert "argparse" not in loaded(command("--version"))


@pytest.mark.parametrize(
    "module", ["tui_agent.protocol.events.union", "tui_agent.ports.session", "tui_agent.plugin_api"]
)
def test_what_everybody_imports_is_light(module: str) -> None:
    assert not loaded(f"import {module}") & {
        "textual",
        "rich",
        "litellm",
        "tiktoken",
        "tree_sitter",
        "httpx",
        "yaml",
    }


def headless(tmp_path: Path, answers: str, *more: str) -> set[str]:
    """What one whole `run` with a scripted model has loaded."""
    script = tmp_path / "script.yaml"
    script.write_text(f"answers:\n{answers}")
    data = tmp_path / "data"
    return loaded(
        command(
            "run", "hello", "-m", f"scripted:{script}", "--data-dir", str(data), "-C", str(tmp_path), *more
        )
    )


@pytest.mark.slow
def test_a_headless_run_loads_nothing_that_it_does_not_need(tmp_path: Path) -> None:
    found = headless(tmp_path, "  - text: Hello.\n")
    assert "tui_agent" in found
    assert not found & {"textual", "rich", "litellm", "tiktoken", "watchfiles", "httpx", "tree_sitter"}


@pytest.mark.slow_variants
@pytest.mark.parametrize("module", ["chat_completions", "responses"])
def test_a_direct_client_loads_neither_the_command_line_of_its_library_nor_http_2(module: str) -> None:
    found = loaded(f"import tui_agent.models.{module}")
    assert {"httpx", "httpcore"} <= found
    assert not found & {"click", "pygments", "rich", "h2"}


def test_what_a_direct_client_leaves_out_can_still_be_had() -> None:
    assert {"click", "h2"} <= loaded("import tui_agent.models.http, httpx._main, httpcore._async.http2")


@pytest.mark.slow
@pytest.mark.parametrize("module", ["tui_agent.wiring.engine_main", "tui_agent.wiring.session"])
def test_the_engine_knows_no_screen_and_nothing_of_what_few_models_need(module: str) -> None:
    assert not loaded(f"import {module}") & {
        "textual",
        "rich",
        "litellm",
        "tiktoken",
        "httpx",
        "yaml",
        "mcp",
        "mcp_types",
        "jsonschema",
        "acp",
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "code",
    [
        "import tui_agent.tui.app",
        "import tui_agent.tui.screens.replay.app, tui_agent.session.recorded_session",
    ],
)
def test_the_apps_process_loads_no_engine(code: str) -> None:
    assert not loaded(code) & {"litellm", "tiktoken", "httpx", "jinja2", "acp", "aiohttp"}
    program = f"import sys\n{code}\nprint(*sorted(sys.modules), sep='\\n')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    packages = (
        "tui_agent.models",
        "tui_agent.engine.",
        "tui_agent.workspace",
        "tui_agent.wiring",
    )
    assert not [name for name in done.stdout.split() if name.startswith(packages)]


def test_the_apps_process_loads_nothing_that_looks_for_secrets() -> None:
    """What it is told has been looked through by the engine; it looks itself only at what a failure says."""
    found = modules("import tui_agent.tui.controller.session_controller, tui_agent.session.remote_session")
    assert not [name for name in found if name.startswith("tui_agent.store.redaction")]


FIRST_PAINT = "import tui_agent.cli.app, tui_agent.session.engine_handle, tui_agent.tui.app"
LIBRARY = """
from textual.app import App
from textual.drivers.linux_driver import LinuxDriver
from textual.widgets import Input, TextArea
"""


def modules(code: str) -> set[str]:
    """All modules that a fresh interpreter has loaded after `code`."""
    program = f"{code}\nimport sys\nprint('\\n' + ' '.join(sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    return set(done.stdout.splitlines()[-1].split())


def test_the_first_paint_loads_the_screens_library_and_light_modules_only() -> None:
    more = modules(FIRST_PAINT) - modules(LIBRARY)
    assert len(more) <= 77, f"{len(more)} modules beside the library: {sorted(more)}"
    late = ("pydantic", "markdown_it", "pygments.lexers", "anyio", "tui_agent.protocol.", "tui_agent.folds")
    plain_text = "tui_agent.protocol.unicode_text"  # loads nothing else
    assert not [
        name
        for name in more - {plain_text}
        if name.startswith((*late, "tui_agent.tui.controller.session_controller", "tui_agent.tui.transcript"))
    ]
    # The page that asks for a model is loaded by name where the first frame shows it (0.7 ms of 190), and nowhere else.
    assert "tui_agent.tui.panes.start" not in more


def test_the_first_paint_defines_few_dataclasses() -> None:
    # A frozen dataclass costs half a millisecond to define, a named tuple a tenth of that.
    made = f"""
import dataclasses
made, define = [], dataclasses._process_class
def counted(cls, *rest):
    made.append(cls.__module__)
    return define(cls, *rest)
dataclasses._process_class = counted
{FIRST_PAINT}
print()
print(*[name for name in made if name.startswith('tui_agent')])
"""
    done = subprocess.run(
        [sys.executable, "-c", made], capture_output=True, text=True, check=True, timeout=60
    )
    found = done.stdout.splitlines()[-1].split()
    assert len(found) <= 3, f"dataclasses before the first paint: {found}"


def named_imports() -> Iterator[tuple[str, str, str]]:
    """Yield (file and line, module, name) for each `import_module("tui_agent.module").name`: no type checker sees them."""
    for source in product():
        for node in source.nodes:
            match node:
                case ast.Attribute(
                    value=ast.Call(func=ast.Name("import_module"), args=[ast.Constant(value=str(module))]),
                    attr=name,
                ) if module.startswith("tui_agent."):
                    yield f"{source.name}:{node.lineno}", module, name


def test_what_is_imported_by_its_name_exists() -> None:
    imports = list(named_imports())
    assert len(imports) > 20
    assert [place for place, module, name in imports if not hasattr(import_module(module), name)] == []
