"""Ignore files leave a secret out only where every program obeys them, and any of them may bring it back."""

import os
from pathlib import Path

import pytest

from tui_agent.ports.environment import SecretFile
from tui_agent.workspace.git.git_content import GitContent, TrackedVersion
from tui_agent.workspace.local.ignore_files import MAX_BYTES, MAX_PATTERNS, MAX_WORK
from tui_agent.workspace.local.secret_files import SecretFiles

CREDENTIALS = "conf/credentials.json"


def scan_secret(root: Path, secret: str) -> SecretFile:
    """Return the only secret of a workspace, once it has one of this name."""
    write(root / secret, "KEY=1")
    (found,) = SecretFiles(str(root), lambda path: path == secret).scan().secrets
    return found


def write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


@pytest.mark.parametrize(
    ("repository", "ignored"),
    [("", False), (".git", True), ("../.git", True), ("conf/.git", False), ("conf/.jj", False)],
)
def test_git_rules_count_only_in_their_own_repository(tmp_path: Path, repository: str, ignored: bool) -> None:
    root = tmp_path / "ws"
    write(root / ".gitignore", "credentials.json\n")
    if repository:
        (root / repository).mkdir(parents=True)
        (root / ".git").mkdir(exist_ok=True)
    assert scan_secret(root, CREDENTIALS).ignored is ignored


def test_a_link_to_no_repository_makes_none(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    write(root / ".gitignore", "credentials.json\n")
    (root / ".git").symlink_to("nowhere")
    assert not scan_secret(root, CREDENTIALS).ignored


@pytest.mark.parametrize(
    ("rules", "ignored"),
    [
        ("credentials.json", True),
        ("/conf/", True),
        ("**/*.json", True),
        ("conf/**", True),
        ("credentials.jso[[:alpha:]]", False),
        ("credentials\\.json", False),
        (b"# caf\xe9\ncredentials.json", False),
        (b"credentials.json\xe9", False),
        (b"credentials.json\n# caf\xe9", True),
    ],
)
def test_only_rules_that_all_programs_read_alike_leave_out(
    tmp_path: Path, rules: str | bytes, ignored: bool
) -> None:
    root = tmp_path / "ws"
    (root / ".git").mkdir(parents=True)
    write(root / ".gitignore", rules)
    assert scan_secret(root, CREDENTIALS).ignored is ignored


@pytest.mark.parametrize(
    ("file", "text", "back"),
    [
        (".ignore", "!.env\n", True),
        (".rgignore", "# all\n!.e*\n", True),
        (".hgignore", "!.env\n", True),
        (".gitignore", ".env\n!.env.example\n", False),
        (".gitignore", "!/sub/.env\n", True),
        (".gitignore", "!sub/\n", True),
        (".gitignore", "!/sub/**\n", True),
        (".gitignore", "\ufeff!.env\n", True),
        (".gitignore", "# caf\xe9\r!.ENV \t\n".encode("latin-1"), True),
        (".ignore", "!\\.env\n", True),
        (".ignore", "!.{env,x}\n", True),
        (".ignore", "!.en[^a]\n", True),
        (".ignore", "#" * MAX_BYTES + "\n!.env\n", True),
        (".ignore", "!other" + "/*x" * 20, True),
        (".ignore", "!other\n" * (MAX_PATTERNS + 1) + "!.env\n", True),
        (".ignore", "".join(f"!{number}\n" for number in range(MAX_PATTERNS + 1)), True),
        (".git/info/exclude", "!.env\n", True),
        ("sub/.git/info/exclude", "!.env\n", True),
        ("sub/.fdignore", "!.env", True),
        ("other/.ignore", "!.env", False),
        (".ignore", ".env\n", False),
        ("../.ignore", "!.env\n", True),
        ("../.rgignore", "!.env\n", True),
        ("../.gitignore", "!.env\n", True),
        ("../.git/info/exclude", "!.env\n", True),
        ("../.gitignore", "!other\n", False),
    ],
)
def test_an_ignore_file_may_bring_a_secret_back(
    tmp_path: Path, file: str, text: str | bytes, back: bool
) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    write(root / file, text)
    assert scan_secret(root, "sub/.env").maybe_reincluded is back


def test_the_rules_of_a_linked_work_tree_lie_in_its_repository(tmp_path: Path) -> None:
    root, main = tmp_path / "ws", tmp_path / "main"
    write(main / "worktrees/ws/commondir", "../..\n")
    write(main / "info/exclude", "!.env\n")
    write(root / ".git", f"gitdir: {main}/worktrees/ws\n")
    assert scan_secret(root, ".env").maybe_reincluded


@pytest.mark.parametrize(("size", "expected"), [(0, (True, False)), (MAX_BYTES, (False, True))])
def test_behind_the_bytes_that_a_look_reads_any_file_may_be_brought_back(
    tmp_path: Path, size: int, expected: tuple[bool, bool]
) -> None:
    (tmp_path / ".git").mkdir()
    write(tmp_path / ".gitignore", "#" * size + "\n")
    write(tmp_path / "conf/.gitignore", "*.json\n")
    found = scan_secret(tmp_path, CREDENTIALS)
    assert (found.ignored, found.maybe_reincluded) == expected


def test_after_the_work_of_a_look_nothing_is_left_out_and_anything_may_be_brought_back(
    tmp_path: Path,
) -> None:
    write(tmp_path / ".gitignore", "".join(f"x{number}\n" for number in range(4_999)) + "secret*\n")
    (tmp_path / ".git").mkdir()
    count = MAX_WORK // 5_000 + 20
    for number in range(count):
        write(tmp_path / f"secret{number}", "KEY=1")
    secrets = SecretFiles(str(tmp_path), lambda path: path.startswith("secret")).scan().secrets
    assert len(secrets) == count
    assert {(secret.ignored, secret.maybe_reincluded) for secret in secrets[:50]} == {(True, False)}
    assert {(secret.ignored, secret.maybe_reincluded) for secret in secrets[-10:]} == {(False, True)}


def test_a_secret_behind_many_folders_is_judged_too(tmp_path: Path) -> None:
    write(tmp_path / ".gitignore", "secret\n")
    (tmp_path / ".git").mkdir()
    at = os.open(tmp_path, os.O_RDONLY)
    for _ in range(600):
        os.mkdir("d", dir_fd=at)
        below = os.open("d", os.O_RDONLY, dir_fd=at)
        os.close(at)
        at = below
    os.close(os.open("secret", os.O_WRONLY | os.O_CREAT, dir_fd=at))
    os.close(at)
    (found,) = SecretFiles(str(tmp_path), lambda path: path.endswith("/secret")).scan().secrets
    assert found.ignored
    assert GitContent().find_version("/d" * 1_900 + "/secret", tmp_path.stat()) == TrackedVersion()


def test_a_pipe_as_an_ignore_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / ".ignore")
    assert not scan_secret(tmp_path, ".env").maybe_reincluded
