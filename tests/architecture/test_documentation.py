"""The documentation is what the program says, and leads somewhere."""

import re
from pathlib import Path

from docs.generate_programs import PAGE, programs_page
from docs.generate_reference import (
    COMMAND_LINE,
    CONFIGURATION,
    EXITS,
    command_line_page,
    configuration_page,
    settings,
)
from tests.architecture.source import ROOT
from tui_agent.cli.exit_codes import Exit
from tui_agent.config.settings import Config, ModelProfile
from tui_agent.protocol.events.union import KINDS
from tui_agent.protocol.settings import Budgets

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "benchmarks" / "README.md"]


def test_the_reference_pages_are_current() -> None:
    assert COMMAND_LINE.read_text(encoding="utf-8") == command_line_page(), (
        "run `python -m docs.generate_reference`"
    )
    assert CONFIGURATION.read_text(encoding="utf-8") == configuration_page(), (
        "run `python -m docs.generate_reference`"
    )
    assert PAGE.read_text(encoding="utf-8") == programs_page(), "run `python -m docs.generate_programs`"


def test_every_event_kind_every_exit_status_and_every_setting_is_explained() -> None:
    events = (ROOT / "docs" / "events.md").read_text(encoding="utf-8")
    assert not [kind for kind in KINDS if kind not in events.split()]
    assert set(EXITS) == set(Exit)
    rows = [row for model in (Config, ModelProfile, Budgets) for row in settings(model)]
    assert not [row for row in rows if not row.split("|")[2].strip()]


def test_every_link_between_pages_leads_somewhere() -> None:
    def dead(page: Path) -> list[str]:
        targets = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
        local = [target for target in targets if "://" not in target]
        return [f"{page.name}: {target}" for target in local if not (page.parent / target).exists()]

    assert not [link for page in PAGES for link in dead(page)]


def test_public_pages_name_no_tool_that_the_user_need_not_have() -> None:
    others = [page for page in PAGES if page != PAGE]  # that page lists every program
    assert not [page.name for page in others if "uv run" in page.read_text(encoding="utf-8")]


def test_the_index_names_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    pages = [path.name for path in (ROOT / "docs").glob("*.md") if path.name != "README.md"]
    assert not [name for name in pages if f"({name})" not in index]
