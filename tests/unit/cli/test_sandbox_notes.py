"""What the command line says of the sandbox: in `doctor`, and in a run whose profile rests on one that is not there."""

from pathlib import Path

import pytest

from tests.stubs.sandboxed import require_sandbox
from tui_agent.cli.doctor.command import sandbox, secrets
from tui_agent.cli.run.command import warn_unconfined
from tui_agent.config.session_options import SessionOptions
from tui_agent.ports.environment import Sandbox
from tui_agent.protocol.settings import ModelInfo, PolicyName, SessionSettings
from tui_agent.wiring.startup_context import load_startup_context
from tui_agent.workspace.local.secret_files import MAX_FILES

NONE = Sandbox(unavailable_reason="bubblewrap is not installed (program: bwrap).")
MODEL = ModelInfo(profile="fake", provider="fake", model="fake", window=1, max_output=1)


@pytest.mark.parametrize(
    ("policy", "confined", "lines"),
    [("accept-edits", NONE, 1), ("accept-edits", Sandbox("bubblewrap"), 0), ("ask", NONE, 0)],
)
def test_a_run_says_that_nothing_confines_its_commands_where_its_profile_rests_on_that(
    capsys: pytest.CaptureFixture[str], policy: PolicyName, confined: Sandbox, lines: int
) -> None:
    warn_unconfined(SessionSettings(model=MODEL, policy=policy), confined)
    said = capsys.readouterr().err
    assert said.count("\n") == lines
    assert not lines or said.endswith(f"there is no sandbox. {NONE.unavailable_reason}\n")


def test_doctor_says_what_is_in_force(tmp_path: Path) -> None:
    require_sandbox()
    found = sandbox(load_startup_context(SessionOptions(cwd=tmp_path), {"HOME": "/home/ada"}))
    assert found.state == "ok"
    assert found.message.startswith("bubblewrap. Commands run in bubblewrap")


def test_doctor_says_that_it_was_switched_off(tmp_path: Path) -> None:
    settings = tmp_path / "home/.config/tui-agent/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[sandbox]\nmode = "off"\n')
    found = sandbox(
        load_startup_context(SessionOptions(cwd=tmp_path / "home"), {"HOME": str(tmp_path / "home")})
    )
    assert (found.state, found.message) == ("note", "It is turned off in config.toml ([sandbox] mode).")


@pytest.mark.parametrize(
    ("names", "readable", "state", "said"),
    [
        ((), (), "ok", "no files that may contain secrets."),
        ((".env",), (), "ok", "Hidden from commands: 1 file that may contain secrets (.env)."),
        ((".env", "a.key"), (".env",), "ok", "(a.key). Commands can read .env ("),
        (tuple(f"{at}.key" for at in range(MAX_FILES + 1)), (), "note", f"{MAX_FILES} files that may contain secrets ("),
    ],
)  # fmt: skip
def test_doctor_says_how_many_files_are_covered_and_what_bounds_that(
    tmp_path: Path, names: tuple[str, ...], readable: tuple[str, ...], state: str, said: str
) -> None:
    require_sandbox()
    for name in names:
        (tmp_path / name).touch()
    found = secrets(
        load_startup_context(SessionOptions(cwd=tmp_path, readable=readable), {"HOME": "/home/ada"})
    )
    assert (found.state, said in found.message) == (state, True), found
    assert bool(found.advice) == (state == "note")


def test_what_a_start_opens_is_added_to_what_the_configuration_opens(tmp_path: Path) -> None:
    settings = tmp_path / "home/.config/tui-agent/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[sandbox]\nreadable = [".env.test"]\n')
    options = SessionOptions(cwd=tmp_path, readable=(".env",))
    for said in (options, SessionOptions.from_json(options.to_json())):
        assert load_startup_context(said, {"HOME": str(tmp_path / "home")}).config.sandbox.readable == (
            ".env.test",
            ".env",
        )
