"""The documentation is what the program says, and leads somewhere."""

import argparse
import re
from importlib import import_module
from pathlib import Path

from docs.generate_programs import KEYS_PAGE, PAGE, keys_page, programs_page
from docs.generate_reference import (
    COMMAND_LINE,
    CONFIGURATION,
    EXITS,
    cell,
    command_line_page,
    configuration_page,
    group_options,
    settings,
    subcommands,
    words,
)
from tests.architecture.source import ROOT
from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.shared_options import GROUPS, add_groups
from tui_agent.cli.main import VERBS, parser_for
from tui_agent.config.settings.settings import Config, ModelProfile
from tui_agent.protocol.events.union import KINDS
from tui_agent.protocol.settings import Budgets

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"]
FOR_USERS = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]


def test_the_reference_pages_are_current() -> None:
    assert COMMAND_LINE.read_text(encoding="utf-8") == command_line_page(), (
        "run `python -m docs.generate_reference`"
    )
    assert CONFIGURATION.read_text(encoding="utf-8") == configuration_page(), (
        "run `python -m docs.generate_reference`"
    )
    assert PAGE.read_text(encoding="utf-8") == programs_page(), "run `python -m docs.generate_programs`"
    assert KEYS_PAGE.read_text(encoding="utf-8") == keys_page(), "run `python -m docs.generate_programs`"


def test_every_event_kind_every_exit_status_and_every_setting_is_explained() -> None:
    events = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    assert not [kind for kind in KINDS if kind not in events.split()]
    assert set(EXITS) == set(Exit)
    rows = [row for model in (Config, ModelProfile, Budgets) for row in settings(model)]
    assert not [row for row in rows if not row.split("|")[2].strip()]


def test_every_common_option_is_on_the_page_of_the_command_line() -> None:
    parser = argparse.ArgumentParser(add_help=False)
    add_groups(parser, GROUPS)
    options = {words[-1] for action in parser._actions if (words := action.option_strings)}
    page = COMMAND_LINE.read_text(encoding="utf-8")
    assert len(options) > 20 and sorted(option for option in options if option not in page) == []


def test_every_option_of_every_command_is_explained_in_its_section() -> None:
    page = COMMAND_LINE.read_text(encoding="utf-8")
    shared = {group: {words(option) for option in group_options(group)} for group in GROUPS}
    missing = []
    for name, verb in VERBS.items():
        prog = f"tui-agent {name}"
        parser = parser_for(prog, verb, import_module(verb.module))
        parsers = {prog: parser, **{f"{prog} {name}": inner for name, inner in subcommands(parser)}}
        for title, own in parsers.items():
            section = re.split(r"\n##", page.partition(f"# {title}\n")[2])[0]
            common = re.search(r"Common options: (.+)\.", section)
            known = set[str]().union(*(shared[group] for group in common[1].split(", "))) if common else set()
            options = [option for option in own._actions if option.option_strings]
            missing += [
                f"{title}: {words(option)}"
                for option in options
                if not {"--help", "--debug"} & set(option.option_strings)
                and words(option) not in known
                and f"| `{cell(words(option))}` | {cell(option.help or '')} |" not in section
            ]
    assert missing == []


def test_every_link_between_pages_leads_somewhere() -> None:
    def dead(page: Path) -> list[str]:
        targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        local = [target for target in targets if "://" not in target]
        return [f"{page.name}: {target}" for target in local if not (page.parent / target).exists()]

    assert not [link for page in PAGES for link in dead(page)]


def detours(text: str) -> list[str]:
    """Return the calls of the program through a tool or folder that a user need not have."""
    return re.findall(r"uv run|\.venv/bin/tui-agent", text)


def real_models(text: str) -> list[str]:
    """Return the names of models that somebody sells or ships."""
    return re.findall(
        r"\b(?:gpt-\d|o[1-9]-|claude-|sonnet|opus|haiku|gemini-\d|deepseek-\w|qwen\d|llama-?\d|mistral-\w|kimi-|glm-)[\w.-]*",
        text,
        re.IGNORECASE,
    )


def test_pages_for_users_call_the_program_by_its_name() -> None:
    others = [page for page in FOR_USERS if page != PAGE]  # that page lists every program
    assert {page.name: calls for page in others if (calls := detours(page.read_text(encoding="utf-8")))} == {}
    assert detours("`uv run tui-agent`, `.venv/bin/tui-agent run`") == ["uv run", ".venv/bin/tui-agent"]


def test_pages_for_users_have_placeholders_for_models() -> None:
    found = {
        page.name: names for page in FOR_USERS if (names := real_models(page.read_text(encoding="utf-8")))
    }
    assert found == {}
    assert real_models("-m anthropic/claude-sonnet-4-5, GPT-5 or a model gpt") == [
        "claude-sonnet-4-5",
        "GPT-5",
    ]


def test_the_readme_names_the_four_pillars_and_what_is_not_planned() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    pillars = ["Event log", "Policy and sandbox", "Trace and replay", "Context control"]
    assert re.findall(r"^\| \*\*(.+?)\*\* \|", text, re.MULTILINE) == pillars
    not_planned = text.partition("Not planned: ")[2].split("\n\n")[0].replace("\n", " ")
    assert "a model gateway, a pool of agents, embeddings or vector stores, learning from runs" in not_planned


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md"]
    assert not [name for name in pages if f"({name})" not in index]
