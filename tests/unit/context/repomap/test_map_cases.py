"""The benchmark of the map draws commits that say what they change in source files."""

import os
import subprocess
from pathlib import Path

import pytest

from benchmarks.map_cases import draw_cases, main, measure

BODY = "The zeppelin landed twice (#12).\n\nFixes gh-7\nSigned-off-by: A <a@a>"


@pytest.mark.slow
def test_cases_are_commits_of_source_files_with_their_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "repo"
    root.mkdir()

    def git(*words: str, days: int = 0) -> None:
        identity = ("-c", "user.name=t", "-c", "user.email=t@t")
        environment = os.environ | {"GIT_COMMITTER_DATE": f"{days * 86_400 + 1_600_000_000} +0000"}
        subprocess.run(["git", *identity, *words], cwd=root, check=True, capture_output=True, env=environment)

    def commit(message: str, *paths: str, days: int) -> None:
        for path in paths:
            (root / path).parent.mkdir(exist_ok=True)
            (root / path).write_text(f"{path}: {message}\n")
        git("add", "-A")
        git("commit", "-q", "-m", message, days=days)

    git("init", "-q")
    commit("List each price", "lib/a.py", "lib/b.py", "tests/test_a.py", "other.txt", days=1)
    commit(f"Round the landing price\n\n{BODY}", "lib/a.py", "tests/test_a.py", days=9)
    commit("Bump the version of the parser", "lib/a.py", days=10)
    commit("Test rounding of landing prices", "tests/test_a.py", days=11)
    commit("Fix #12", "lib/b.py", days=12)
    commit("Add the price of a whole fleet", "lib/c.py", days=13)

    (case,) = draw_cases(root, 5)
    assert case["gold_files"] == ["lib/a.py"]
    assert case["query"] == "Round the landing price\n\nThe zeppelin landed twice ."

    git("clone", "-q", str(root), str(tmp_path / "source"))
    work = tmp_path / "work"
    work.mkdir()
    (work / "no-index").touch()
    measured = measure(root, work, case)
    assert measured["first"][0] == measured["settled"][0] == "lib/a.py"
    assert measured["unreachable"] == []

    for number in "12":  # the second run finds the clone as the last case of the first run left it
        options = ["--work", str(tmp_path / "again"), "--json", str(tmp_path / number)]
        monkeypatch.setattr("sys.argv", ["map_cases", str(tmp_path / "source"), *options])
        main()
    assert (tmp_path / "1").read_text() == (tmp_path / "2").read_text() != ""
