"""Commands, options and slash commands that the pages name are the program's own."""

import argparse
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

from tests.architecture.source import ROOT
from tui_agent.cli.console.shared_options import EVERYTHING, GROUPS, Parser
from tui_agent.cli.main import APP, VERBS, parser_for
from tui_agent.tui.keys_and_commands import TYPED

GENERATED = {"command-line.md", "configuration.md", "events.md", "keys.md", "program-keys.md", "programs.md"}
PAGES = sorted(
    path
    for path in (ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md"))
    if path.name not in GENERATED
)
CALL = re.compile(r"tui-agent ((?:[\w./:@=<>\"'…~-]+ ?)+)")
SLASH = re.compile(r"(?:`|^)(/[a-z][a-z-]+)(?=[ `\[])", re.MULTILINE)
FOLDERS = {"/dev", "/etc", "/proc", "/run", "/tmp", "/usr"}


@cache
def parsers() -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command and subcommand by its words; the app's is ``""``."""
    found: dict[str, argparse.ArgumentParser] = {}
    for name, verb in {"": APP, **VERBS}.items():
        parser = parser_for("tui-agent", verb, import_module(verb.module))
        found[name] = parser
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                found |= {f"{name} {word}": inner for word, inner in action.choices.items()}
    return found


@cache
def common_options() -> frozenset[str]:
    """Return the options that may stand before every command."""
    parser = Parser(prog="tui-agent")
    for group in EVERYTHING:
        GROUPS[group](parser)
    return options_of(parser) | {"--debug", "--version"}


def options_of(parser: argparse.ArgumentParser) -> frozenset[str]:
    return frozenset(option for action in parser._actions for option in action.option_strings)


def unknown_words(words: list[str]) -> Iterator[str]:
    """Yield the subcommand and the options of a call that the program does not know."""
    name = words[0] if words[0] in parsers() else ""
    rest = words[1:] if name else words
    rest = rest[: rest.index("--")] if "--" in rest else rest
    inner = {known.partition(" ")[2] for known in parsers() if name and known.startswith(f"{name} ")}
    if rest and rest[0] in inner:
        name, rest = f"{name} {rest[0]}", rest[1:]
    elif inner and rest and re.fullmatch(r"[a-z-]+", rest[0]) and not rest[0].startswith("-"):
        yield rest[0]
    known_options = options_of(parsers()[name]) | common_options()
    options = [word.split("=")[0].rstrip(".,;:)`") for word in rest if word.startswith("--")]
    yield from (option for option in options if option not in known_options)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_command_on_a_page_exists(page: Path) -> None:
    calls = [match[1].split() for match in CALL.finditer(page.read_text(encoding="utf-8"))]
    assert not [(words, word) for words in calls for word in unknown_words(words)]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_each_slash_command_on_a_page_exists(page: Path) -> None:
    known = set(TYPED)
    named = {match[1] for match in SLASH.finditer(page.read_text(encoding="utf-8"))}
    assert not named - known - FOLDERS


def test_an_unknown_command_or_option_is_noticed() -> None:
    assert list(unknown_words(["sessions", "frobnicate"])) == ["frobnicate"]
    assert list(unknown_words(["sessions", "list", "--no-such-option"])) == ["--no-such-option"]
    assert list(unknown_words(["run", "words", "--policy", "plan"])) == []
