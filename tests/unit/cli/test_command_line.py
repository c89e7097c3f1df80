"""How words on the command line become a command, options, and one line about what is wrong."""

import argparse
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tui_agent.cli.console import exit_codes, shared_options
from tui_agent.cli.console.shared_options import EVERYTHING, GROUPS, Parser, session_options
from tui_agent.cli.main import (
    APP,
    VERBS,
    dispatch,
    format_error,
    innermost_error,
    main,
    parser_for,
    position_of_command,
    top_parser,
)
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError, ModelError, SessionNotFound, StoreFull, TuiAgentError, UsageError
from tui_agent.protocol.events.turn import TurnEnd
from tui_agent.protocol.settings import CONTEXT_MODES, EFFORTS, POLICIES


def parsed(*words: str) -> SessionOptions:
    parser = Parser(prog="test")
    for group in EVERYTHING:
        GROUPS[group](parser)
    return session_options(parser.parse_args(words), client="headless", interactive=False)


def test_the_lists_of_words_are_those_of_the_protocol() -> None:
    assert shared_options.EFFORTS == EFFORTS
    assert shared_options.POLICIES == POLICIES
    assert shared_options.CONTEXT_MODES == CONTEXT_MODES


def test_nothing_said_leaves_everything_to_the_configuration(tmp_path: Path) -> None:
    found = parsed("-C", str(tmp_path))
    assert found == SessionOptions(
        cwd=tmp_path,
        cwd_given=True,
        client="headless",
        interactive=False,
    )


def test_every_common_option_reaches_the_session(tmp_path: Path) -> None:
    words = f"""-C {tmp_path} -m fast --agent a --base-url http://127.0.0.1:1/v1 --reasoning-effort low --policy plan
        --session s --context-mode none --repo-map-mode off --max-parts 1 --max-turns 2 --max-iterations 3
        --timeout-seconds 4.5 --max-cost 0.5 --investigator-model-profile cheap --plugin-dir {tmp_path} --no-plugins
        --theme day --data-dir {tmp_path}""".split()
    assert parsed(*words) == SessionOptions(
        cwd=tmp_path,
        cwd_given=True,
        client="headless",
        interactive=False,
        model="fast",
        agent="a",
        base_url="http://127.0.0.1:1/v1",
        effort="low",
        policy="plan",
        session="s",
        context_mode="none",
        repo_map="off",
        max_parts=1,
        max_turns=2,
        max_iterations=3,
        timeout_seconds=4.5,
        max_cost_usd=0.5,
        investigator_profile="cheap",
        plugin_dirs=(tmp_path,),
        no_plugins=True,
        theme="day",
        data_dir=tmp_path,
    )


@pytest.mark.parametrize(
    ("words", "at"),
    [
        (["run", "x"], 0),
        (["-C", "run", "demo"], 2),
        (["--cwd=run", "demo"], 1),
        (["--continue", "demo"], 1),
        (["--", "run"], None),
        (["--policy", "ask"], None),
        ([], None),
        (["-"], 0),
    ],
)
def test_a_command_is_the_first_word_that_is_no_option_and_no_value(words: list[str], at: int | None) -> None:
    assert position_of_command(words, top_parser().options_with_value()) == at


@pytest.mark.parametrize(
    "words",
    [
        ["--max-parts", "0"],
        ["--max-parts", "²"],
        ["--max-cost", "nan"],
        ["--timeout-seconds", "-1"],
        ["--policy", "yolo"],
        ["--no-such-option"],
        ["--model"],
        ["-C", "/no/such/folder"],
    ],
)
def test_a_wrong_option_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError):
        parsed(*words)


def test_a_slip_of_the_finger_is_no_prompt() -> None:
    with pytest.raises(UsageError, match="Did you mean 'sessions'"):
        dispatch(["sesions"])


@pytest.mark.parametrize("words", [["sesions list"], ["--", "sesions"], ["fix"], ["--debug", "hello there"]])
def test_other_words_go_to_the_app_which_wants_a_terminal(words: list[str]) -> None:
    with pytest.raises(UsageError, match="needs a terminal"):
        dispatch(words)


def test_common_options_may_stand_before_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data-dir", str(tmp_path), "-C", str(tmp_path), "sessions", "list", "--json"]) == 0
    assert capsys.readouterr().out == ""


def test_a_command_that_lists_nothing_prints_its_help_without_a_verb(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["config"]) == 0
    written = capsys.readouterr().out
    assert (
        written.startswith("usage: tui-agent config") and "list settings and where they come from" in written
    )


@pytest.mark.parametrize("name", sorted(VERBS))
def test_every_commands_help_has_an_example(name: str) -> None:
    verb = VERBS[name]
    text = parser_for(f"tui-agent {name}", verb, import_module(verb.module)).format_help()
    assert f"\n  tui-agent {name}" in text.split("examples:")[1]


def subverbs(parser: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    groups = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return [(name, inner) for group in groups for name, inner in group.choices.items()]


@pytest.mark.parametrize("name", sorted(VERBS))
def test_every_subcommands_help_has_an_example_and_every_listing_json(name: str) -> None:
    parser = parser_for(f"tui-agent {name}", VERBS[name], import_module(VERBS[name].module))
    for inner_name, inner in subverbs(parser):
        text = inner.format_help()
        assert f"tui-agent {name} {inner_name}" in text.split("examples:")[1], inner_name
        assert "--json" in text


@pytest.mark.parametrize("name", ["", "app", *sorted(VERBS)])
def test_no_line_of_a_help_is_longer_than_the_terminal_is_wide(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    verb = VERBS.get(name, APP)
    parser = parser_for(f"tui-agent {name}", verb, import_module(verb.module)) if name else top_parser()
    for shown in (parser, *(inner for _, inner in subverbs(parser))):
        too_long = [line for line in shown.format_help().splitlines() if len(line) > 80]
        assert [line for line in too_long if len(line.strip().removesuffix(" \\").split()) > 1] == [], (
            shown.prog
        )


WITHOUT_EXTRAS = """
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in absent:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

absent = set(sys.argv[1].split(","))
sys.meta_path.insert(0, Absent())
from tui_agent.cli.main import VERBS, main
for words in ((), *((name,) for name in VERBS)):
    assert main([*words, "--help"]) == 0, words
"""


def test_the_help_of_every_command_works_without_any_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [name for extra in project["optional-dependencies"].values() for name in extra]
    absent = [re.split(r"[^\w-]", name)[0].replace("-", "_") for name in names]
    assert {"keyring", "textual_speedups", "tree_sitter_lua"} <= set(absent)
    words = [sys.executable, "-c", WITHOUT_EXTRAS, ",".join(absent)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("\nexamples:\n") == len(VERBS) + 1


def test_the_list_of_commands_names_them_all() -> None:
    text = top_parser().format_help()
    assert all(f"  {name} " in text for name in VERBS)
    assert APP.summary


def test_debug_shows_a_traceback_and_nothing_else_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "no-such-demo"]) == 2
    plain = capsys.readouterr().err
    assert plain.count("\n") == 1
    assert "Traceback" not in plain
    assert main(["demo", "no-such-demo", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_an_error_is_one_line_whatever_stands_in_it() -> None:
    error = ConfigError("a\nb\x1b[2J\u202e", hint="Do\r\nthis.")
    assert format_error(error) == "tui-agent: a b [2J . Do this."
    for text in ("x", "x."):
        assert format_error(ValueError(text)).startswith("tui-agent: Unexpected ValueError: x. For")


def test_a_wrong_option_of_a_subcommand_leads_to_the_help_of_that_subcommand() -> None:
    for name in VERBS:
        parser = parser_for(f"tui-agent {name}", VERBS[name], import_module(VERBS[name].module))
        for verb in parser.verbs or {""}:
            words = [*verb.split(), "--bogus", *["1"] * 5]
            with pytest.raises(UsageError) as caught:
                parser.parse_args(words)
            assert caught.value.hint == f"See: {' '.join(['tui-agent', name, *verb.split()])} --help"
    with pytest.raises(UsageError, match="unrecognized arguments: --bogus --more") as caught:
        dispatch(["policy", "check", "--bogus", "--more", "ls"])
    assert caught.value.hint == "See: tui-agent policy check --help"


def test_what_a_task_group_wraps_is_what_counts() -> None:
    wrapped = BaseExceptionGroup("g", [ValueError("v"), BaseExceptionGroup("h", [ModelError("m")])])
    assert isinstance(innermost_error(wrapped), ModelError)
    assert isinstance(innermost_error(ExceptionGroup("g", [KeyError("k")])), KeyError)


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (UsageError("x"), 2),
        (ConfigError("x"), 2),
        (SessionNotFound("x"), 2),
        (ModelError("x"), 5),
        (StoreFull("x"), 1),
        (TuiAgentError("x"), 1),
        (ValueError("x"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_errors_have_their_exit_statuses(error: BaseException, status: int) -> None:
    assert exit_codes.error_exit_status(error) == status


def test_every_end_of_a_turn_has_an_exit_status() -> None:
    statuses = {reason: int(exit_codes.turn_exit_status(reason)) for reason in TurnEnd.__args__}
    assert statuses == {
        "finished": 0,
        "rejected": 1,
        "interrupted": 130,
        "part_limit": 3,
        "iteration_limit": 3,
        "turn_limit": 3,
        "time_limit": 3,
        "cost_limit": 3,
        "denied": 4,
        "stuck": 1,
        "model_error": 5,
        "error": 1,
    }


def test_a_reader_that_goes_away_makes_no_noise(tmp_path: Path) -> None:
    program = "import sys; from tui_agent.__main__ import main; sys.argv[1:] = ['--help']; sys.exit(main())"
    with subprocess.Popen(
        [sys.executable, "-c", f"import os; os.close(1); os.open('/dev/full', os.O_WRONLY)\n{program}"],
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
    ) as started:
        _, err = started.communicate(timeout=60)
    assert b"Traceback" not in err.split(b"Exception ignored")[0]
