"""A repository of a hundred thousand files has a map: at once, by its index, and after a change."""

import os
import time
from pathlib import Path

import pytest

from tests.soak.conftest import Report
from tui_agent.context.repomap.map_results import MapView
from tui_agent.context.repomap.repository_map import RepoMap

FILES = int(os.environ.get("FILES", "100000"))
PER_FOLDER = 250

pytestmark = pytest.mark.soak


def test_a_hundred_thousand_files_are_mapped(tmp_path: Path, report: Report) -> None:
    root = tmp_path / "repo"
    for number in range(FILES):
        folder = root / f"p{number // PER_FOLDER}"
        if number % PER_FOLDER == 0:
            folder.mkdir(parents=True)
        (folder / f"m{number}.py").write_text(f"def work_{number}(item):\n    return item\n")
    (root / "target.py").write_text("class Ledger:\n    def balance_of_account(self): ...\n")
    mapped = RepoMap(root, tmp_path / "cache", patience=0.0)
    figures: list[str] = []

    def asked(name: str, query: str) -> MapView:
        started = time.process_time()
        view = mapped.map(query)
        figures.append(f"{name} {time.process_time() - started:.2f}")
        assert view.files[0].path == "target.py"
        assert view.total == FILES + 1
        return view

    assert asked("first answer", "balance of the account in the ledger").partial
    assert mapped.wait(3_600)
    assert not asked("from a fresh index", "balance of the account in the ledger").partial
    asked("a second look", "which ledger holds the balance")
    asked("warm", "balance of an account")
    (root / "target.py").write_text("class Ledger:\n    def balance_of_purse(self): ...\n")
    assert "balance_of_purse" in asked("after a change", "balance of the purse").text
    mapped.close()
    report(f"{FILES:,} files, CPU seconds: {', '.join(figures)}")
