"""/init without a model: what it finds in a repository, and that it writes like any agent."""

from pathlib import Path

import pytest

from tests.engine.harness import allow, ask, running, say
from tests.stubs.tool_context import tools_of
from tui_agent.context.init_guide import render_guide, survey
from tui_agent.context.project_commands import find_commands
from tui_agent.protocol.commands import DecidePermission, Steer, Undo, WriteGuide
from tui_agent.protocol.events.files import FileChanged
from tui_agent.protocol.events.model import ModelResponded
from tui_agent.protocol.events.policy import PermissionRequested
from tui_agent.protocol.events.turn import TurnFinished, UserMessageReceived
from tui_agent.protocol.parts import TextPart
from tui_agent.workspace.local.environment import LocalEnvironment

FILES = list(tools_of("files").values())


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    (folder / "src").mkdir(parents=True)
    (folder / "tests").mkdir()
    (folder / "src" / "app.py").write_text("x = 1\n")
    (folder / "tests" / "test_app.py").write_text("def test(): ...\n")
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "shop"\n[tool.ruff]\n[tool.pytest.ini_options]\n'
    )
    (folder / "Makefile").write_text("VAR := x\ninstall:\n\tpip install -e .\n\ntest: install\n\tpytest\n")
    (folder / ".github" / "workflows").mkdir(parents=True)
    (folder / ".github" / "workflows" / "ci.yml").write_text("on: push\n")
    return folder


def _said(events: list[object]) -> str:
    parts = [part for event in events if isinstance(event, ModelResponded) for part in event.parts]
    return next(str(part.text) for part in reversed(parts) if isinstance(part, TextPart))


async def test_a_first_one_names_languages_commands_layout_and_checks(workspace: Path) -> None:
    text = render_guide(await survey(LocalEnvironment(workspace)))
    assert "Languages: Python (2 files)." in text
    assert "- Install: `make install` (Makefile)\n- Test: `make test` (Makefile)\n" in text
    assert "- Lint: `ruff check .` (pyproject.toml)" in text and "python -m pytest" not in text
    assert "- `src/`: 1 file, mostly Python" in text and "`.github/workflows/ci.yml`" in text


@pytest.mark.parametrize(
    ("texts", "paths", "wanted"),
    [
        ({"package.json": '{"scripts": {"test": "x", "dev": "y", "e; rm": "z"}}'}, ["pnpm-lock.yaml"],
         {"pnpm install", "pnpm test", "pnpm run dev"}),
        ({"Cargo.toml": ""}, [], {"cargo build", "cargo test"}),
        ({"Cargo.toml": "", ".github/workflows/ci.yml": "run: cargo fmt -- --check"}, ["clippy.toml"],
         {"cargo build", "cargo test", "cargo clippy", "cargo fmt"}),
        ({"go.mod": "module x"}, [], {"go build ./...", "go test ./..."}),
        ({"go.mod": "module x", ".ci/run": "go vet ./..."}, [],
         {"go build ./...", "go test ./...", "go vet ./..."}),
        ({"pyproject.toml": "[project]\ndependencies=['pytest']\n[tool.mypy]"}, ["uv.lock"],
         {"uv sync", "uv run pytest", "uv run mypy ."}),
        ({"pyproject.toml": "[project]\n"}, ["poetry.lock", "conftest.py"],
         {"poetry install", "poetry run pytest"}),
        ({"pyproject.toml": "[project]\n", "tox.ini": "commands = {envpython} runtests.py"},
         ["tests/runtests.py", "tests/test_client/tests.py"],
         {"pip install -e .", "python tests/runtests.py", "tox"}),
        ({"requirements.txt": "django"}, ["manage.py"],
         {"pip install -r requirements.txt", "python manage.py test", "python manage.py runserver"}),
        ({"pyproject.toml": "[project]\n[tool.mypy]\n[tool.ruff]\n[tool.pytest]"},
         ["scripts/test", "scripts/lint.sh", "scripts/release", "scripts/check.py"],
         {"pip install -e .", "scripts/test", "bash scripts/lint.sh", "mypy .", "ruff format ."}),
        ({"Makefile": "all: x\ninstall:\n\tcp x /usr/local\n"}, ["main.c"], {"make"}),
        ({"Makefile": "default: all\n\n.DEFAULT:\n\tcd src && $(MAKE) $@\n"}, ["src/server.c"], {"make"}),
        ({"Makefile": "build:\n\tcc\nall: build\n"}, ["main.c"], {"make build"}),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, [],
         {"npm install"}),
        ({"composer.json": '{"scripts": {"test": "phpunit", "post-install-cmd": "x"}}'}, [],
         {"composer install", "composer test"}),
        ({"justfile": "test *args:\n  x\nset shell := ['a']\n"}, [], {"just test"}),
        ({"package.json": "{broken", "pyproject.toml": "[broken"}, [], set()),
        ({"package.json": "[" * 100_000, "pyproject.toml": "a = " + "[" * 100_000}, [], set()),
    ],
)  # fmt: skip
def test_commands_are_found_where_a_repository_says_them(
    texts: dict[str, str], paths: list[str], wanted: set[str]
) -> None:
    assert {one.command for one in find_commands(texts, frozenset([*paths, *texts]))} == wanted


async def test_a_folders_main_language_is_that_of_most_of_its_files(workspace: Path) -> None:
    (workspace / "docs").mkdir()
    for name in ("conf.py", "a.rst", "b.rst", "c.rst"):
        (workspace / "docs" / name).write_text("x")
    assert "- `docs/`: 4 files\n" in render_guide(await survey(LocalEnvironment(workspace)))


@pytest.mark.parametrize(
    ("has", "lacks"),
    [
        ("Run `uv run pytest -q tests`.", False),
        ("Run pytest.", False),
        ("Run `ruff check src`.", True),
        ("Nothing about pytesting.", True),
    ],
)
async def test_a_command_that_stands_there_with_other_arguments_is_not_added(
    workspace: Path, has: str, lacks: bool
) -> None:
    (workspace / "Makefile").unlink()
    (workspace / "AGENTS.md").write_text(has)
    text = render_guide(await survey(LocalEnvironment(workspace)))
    assert ("- Test: `python -m pytest`" in text) is lacks
    assert ("- Lint: `ruff check .`" in text) is ("ruff check" not in has)


async def test_it_asks_shows_the_diff_is_recorded_and_can_be_undone(tmp_path: Path, workspace: Path) -> None:
    async with running(tmp_path, [], FILES, policy=ask, checkpoints=True) as bench:
        bench.submit(WriteGuide())
        asked = await bench.until_payload(PermissionRequested)
        assert asked.tool == "write_file"
        assert not (workspace / "AGENTS.md").exists()
        bench.submit(DecidePermission(request_id=asked.request_id, decision="allow"))
        await bench.until("turn.finished")
        assert "make test" in (workspace / "AGENTS.md").read_text()
        assert [event.path for event in bench.of(FileChanged)] == ["AGENTS.md"]
        assert bench.model.requests == [], "no model is asked"
        assert _said([event.payload for event in bench.events]).startswith("Created AGENTS.md.")
        bench.submit(Undo())
        await bench.until("session.head_moved")
        await bench.until("checkpoint.restored")
    assert not (workspace / "AGENTS.md").exists()


async def test_a_message_sent_meanwhile_is_answered_by_the_model(tmp_path: Path, workspace: Path) -> None:
    async with running(tmp_path, [say("It has two commands.")], FILES, policy=ask) as bench:
        bench.submit(WriteGuide())
        asked = await bench.until_payload(PermissionRequested)
        bench.submit(Steer(text="how many commands?"))
        await bench.until("user.steered")
        bench.submit(DecidePermission(request_id=asked.request_id, decision="allow"))
        await bench.until("turn.finished")
        assert "how many commands?" in str(bench.model.requests[0].messages[-1])
    assert _said([event.payload for event in bench.events]).endswith("It has two commands.")


async def test_denied_it_says_that_nothing_was_written(tmp_path: Path, workspace: Path) -> None:
    async with running(tmp_path, [], FILES, policy=ask, interactive=False) as bench:
        bench.submit(WriteGuide())
        await bench.until("turn.finished")
    assert not (workspace / "AGENTS.md").exists()
    assert _said([event.payload for event in bench.events]) == "AGENTS.md was not written."
    message = bench.of(UserMessageReceived)[0]
    assert (message.text, message.source) == ("/init", "init")


async def test_to_one_that_is_there_only_what_it_lacks_is_added_and_nothing_twice(
    tmp_path: Path, workspace: Path
) -> None:
    (workspace / "AGENTS.md").write_text("# Mine\n\nRun `make test`.\n")
    async with running(tmp_path, [], FILES, policy=allow) as bench:
        bench.submit(WriteGuide())
        await bench.until("turn.finished")
        text = (workspace / "AGENTS.md").read_text()
        assert text.startswith("# Mine\n\nRun `make test`.\n\n## Commands found in the repository\n")
        assert text.count("make test") == 1 and "make install" in text
        bench.submit(WriteGuide())
        ended = await bench.until_payload(TurnFinished, 2)
    assert ended.reason == "finished"
    assert (workspace / "AGENTS.md").read_text() == text
    assert "Nothing to add" in _said([event.payload for event in bench.events])


async def test_what_is_lacking_is_added_to_the_list_of_commands_that_is_there(workspace: Path) -> None:
    first = render_guide(await survey(LocalEnvironment(workspace)))
    mine = "".join(line for line in first.splitlines(keepends=True) if "make test" not in line)
    mine = mine.replace("\n## Layout", "\nMine.\n\n## Layout")
    (workspace / "AGENTS.md").write_text(mine)
    text = render_guide(await survey(LocalEnvironment(workspace)))
    assert text == mine.replace("\n\nMine.", "\n- Test: `make test` (Makefile)\n\nMine.")


async def test_an_empty_folder_and_a_folder_of_that_name(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    text = render_guide(await survey(LocalEnvironment(tmp_path / "workspace")))
    assert text.startswith("# For coding agents")
    (tmp_path / "workspace" / "AGENTS.md").mkdir()
    async with running(tmp_path, [], FILES, policy=allow) as bench:
        bench.submit(WriteGuide())
        await bench.until("turn.finished")
    assert "AGENTS.md was not written: " in _said([event.payload for event in bench.events])
