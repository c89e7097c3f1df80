"""Files with secrets in the workspace are kept from confined commands, unless they were named: against the real bubblewrap."""

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stubs.sandboxed import World, elsewhere, git, require_sandbox
from tui_agent.policy.places.path_places import may_hold_secrets
from tui_agent.ports.environment import ExecResult, ExecSpec
from tui_agent.workspace.local.secret_files import MAX_FOLDERS, SecretFiles
from tui_agent.workspace.sandbox import seatbelt
from tui_agent.workspace.sandbox.mounts import Mounts

KEY = "-----BEGIN PRIVATE KEY-----\ncanary\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\npublic\n"
FILES = {
    ".env": "DATABASE_URL=canary\n",
    "config/credentials.json": "canary\n",
    "deep/er/.env.local": "canary\n",
    ".aws/config": "canary\n",
    "certs/own.pem": KEY,
}


def lay(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def world() -> Iterator[World]:
    require_sandbox()
    with elsewhere() as base, World(base) as made:
        lay(made.workspace, FILES)
        yield made


async def run(world: World, script: str, *, looks: bool = False, shown: tuple[str, ...] = ()) -> ExecResult:
    spec = ExecSpec(script=script, timeout=30, show_secrets_as_empty=looks, readable_secrets=shown)
    return await world.env.exec(spec, lambda data: None)


READERS = [
    "grep -rn canary .",
    "grep -rn canary . || true",
    "cat $(ls -A) */* */*/*",
    "find . -type f -exec cat {} +",
    "tar cf - . | strings",
    "cp .env other; cat other",
    "ln .env other; cat other",
    "ln -s .env other; cat other",
    "mv .env other; cat other",
    "mv deep moved; cat moved/er/.env.local",
    "cat /proc/self/cwd/.env",
    "python3 -c \"import os; print(os.read(os.open('.env', os.O_RDONLY), 99))\"",
    "git diff --no-index /dev/null . ; git add -A; git diff --cached",
    "git hash-object -w .env | xargs git cat-file -p",
    "chmod 644 .env; cat .env",
    "unshare -Ur cat .env",
    "umount .env; cat .env",
]


@pytest.mark.slow_variants
@pytest.mark.parametrize("looks", [True, False])
@pytest.mark.parametrize("script", READERS)
async def test_no_command_reads_them(world: World, script: str, looks: bool) -> None:
    result = await run(world, script, looks=looks)
    assert b"canary" not in result.output
    assert {name: (world.workspace / name).read_text() for name in (".env", ".aws/config")} == {
        name: FILES[name] for name in (".env", ".aws/config")
    }


async def test_to_a_command_that_only_looks_they_are_empty_so_that_its_search_does_not_fail(
    world: World,
) -> None:
    result = await run(world, "grep -rn a . --include=a.txt --include=.env; cat .env", looks=True)
    assert (result.exit_code, result.output, result.blocked) == (0, b"./a.txt:1:a\n", "")


async def test_a_command_that_names_one_and_was_allowed_reads_that_one(world: World) -> None:
    result = await run(world, "cat .env; cat config/*.json", shown=(str(world.workspace / ".env"),))
    assert result.output.decode().startswith("DATABASE_URL=canary\n")
    assert "credentials.json: Permission denied" in result.output.decode()


async def test_what_the_user_opened_is_read(world: World) -> None:
    look = SecretFiles(str(world.workspace), may_hold_secrets, (".env*", "certs/*.pem")).find_secrets()
    assert [one.name for one in look] == [".aws/", "config/credentials.json"]


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("cat .env", "The command tried to read .env, which may hold secrets and is hidden from commands"),
        ("echo $X; python3 -c 'open(\"config/credentials.json\")'", "The command tried to read config/credentials.json"),
        ("python3 -c \"import os; os.environ['DATABASE_URL']\"", "The output mentions DATABASE_URL, which is set in .env"),
        ("git add -A", "The command tried to read .env"),
        ("echo x > certs/own.pem", "The command tried to change certs/own.pem, which may hold secrets and is protected"),
        ("touch n && mv n certs/own.pem", "The command tried to delete or replace certs/own.pem, which may hold secrets and is protected"),
        ("rm certs/own.pem", "The command tried to delete certs/own.pem, which may hold secrets and is protected"),
        ("rm .env", "The command tried to delete .env, which may hold secrets and is protected from commands."),
        ("git clean -fdxq -e deep -e config -e certs -e .aws", "The command tried to delete .env, which may hold secrets"),
        ("python3 -c \"import os; os.remove('.e' + 'nv')\"", "The command tried to delete or replace .env, which may hold secrets"),
        ("echo x > .env", "The command tried to change .env, which may hold secrets and is protected from commands."),
        ("python3 -c \"import os; os.environ['OTHER_URL']\"", ""),
        ("exit 1", ""),
    ],
)  # fmt: skip
async def test_a_command_that_failed_for_want_of_one_says_so(world: World, script: str, why: str) -> None:
    result = await run(world, script)
    assert result.exit_code and result.blocked.startswith(why) and bool(result.blocked) == bool(why)


async def test_a_command_can_change_what_the_user_opened_unless_its_name_is_protected(world: World) -> None:
    key, env = world.workspace / "certs/own.pem", world.workspace / ".env"
    (key_file,) = (await run(world, "cat certs/own.pem")).needed_secrets
    (env_file,) = (await run(world, "cat .env")).needed_secrets
    assert (key_file.is_writable, env_file.is_writable) == (True, False)
    opened = (str(key), str(env))
    assert (await run(world, "echo x > certs/own.pem", shown=opened)).exit_code == 0
    assert (await run(world, "echo x > .env", shown=opened)).exit_code
    assert (key.read_text(), env.read_text()) == ("x\n", FILES[".env"])


async def test_what_git_holds_is_left_to_commands_that_commit_or_build(world: World) -> None:
    git(world.workspace, "add", "certs")
    git(world.workspace, "commit", "-qm", "a key for tests")
    world.settle()
    built = await run(world, "cat certs/own.pem; git status --short certs; git diff --exit-code HEAD")
    assert built.output.decode() == KEY
    looked = await run(world, "cat certs/own.pem", looks=True)
    assert looked.output == b""
    (world.workspace / "certs/own.pem").write_text(KEY + "new canary\n")
    changed = await run(world, "cat certs/own.pem")
    assert b"canary" not in changed.output


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "script",
    [
        "git diff --exit-code",
        "git status --short .env",
        "git add -A . && git commit -qm more",
        "git commit -qam more",
        "git stash -q && git stash pop -q",
        "git checkout -q -b other && git reset -q --hard",
    ],
)
async def test_git_takes_a_changed_one_as_it_has_it(world: World, script: str) -> None:
    root = world.workspace
    (root / ".gitignore").write_text(".aws\nconfig\ndeep\ncerts\n")
    lay(root, {"app/.env": "A=old\n", ".env": "A=old\n", "b.txt": "b\n"})
    for name in ("app/.env", ".env", "b.txt"):
        os.utime(root / name, (1_700_000_000, 1_700_000_000))
    git(root, "add", "-A")
    git(root, "commit", "-qm", "settings")
    lay(root, {"app/.env": "A=canary, longer\n", ".env": "A=canary\n"})
    (root / "b.txt").write_text("b\n" if "diff" in script else "new\n")
    world.settle()
    result = await run(world, f"export GIT_AUTHOR_NAME=A GIT_COMMITTER_NAME=A EMAIL=a@example.org; {script}")
    assert (result.exit_code, result.output) == (0, b"")
    assert any(
        note.startswith(".env, app/.env may hold secrets, so this command's diffs") for note in result.notes
    )
    assert git(root, "show", "HEAD:.env", "HEAD:app/.env") == "A=old\nA=old\n"
    assert git(root, "status", "--short", ".env", "app") == " M .env\n M app/.env\n"
    assert (root / ".env").read_text() == "A=canary\n"
    assert (await run(world, "cat app/.env")).blocked.startswith("The command tried to read app/.env")


async def test_an_index_that_names_a_file_does_not_open_it(world: World) -> None:
    forged = await run(
        world,
        "git update-index --add --cacheinfo 100644,$(git hash-object a.txt),.env && git ls-files .env",
    )
    assert forged.output == b".env\n"
    assert b"canary" not in (await run(world, "cat .env")).output


def found(root: Path) -> list[str]:
    return [one.name for one in SecretFiles(str(root), may_hold_secrets).find_secrets()]


def test_a_key_is_told_from_a_certificate_and_what_is_installed_is_passed_over(tmp_path: Path) -> None:
    lay(tmp_path, {"a.pem": KEY, "b.pem": CERTIFICATE, "c.key": "x", "node_modules/d/e.pem": KEY})
    lay(
        tmp_path, {".venv/lib/site-packages/x/cacert.pem": KEY, ".env.example": "x", ".ENV": "x", "z.py": "x"}
    )
    assert sorted(found(tmp_path)) == [".ENV", "a.pem", "c.key"]


def test_a_link_with_such_a_name_leads_to_what_is_kept(tmp_path: Path) -> None:
    lay(tmp_path, {"settings/prod": "x"})
    (tmp_path / ".env").symlink_to("settings/prod")
    (tmp_path / "gone.env").symlink_to("nowhere")
    (one,) = SecretFiles(str(tmp_path), may_hold_secrets).find_secrets()
    assert (one.name, one.path) == (".env", str(tmp_path / "settings/prod"))


def test_a_file_that_came_or_went_is_seen_at_once(tmp_path: Path) -> None:
    lay(tmp_path, {"a/b/c.txt": "x"})
    os.utime(tmp_path / "a/b", ns=(0, 0))
    secrets = SecretFiles(str(tmp_path), may_hold_secrets)
    assert secrets.find_secrets() == ()
    lay(tmp_path, {"a/b/.env": "x", "n/.env": "x"})
    assert [one.name for one in secrets.find_secrets()] == ["n/.env", "a/b/.env"]
    (tmp_path / "a/b/.env").unlink()
    assert [one.name for one in secrets.find_secrets()] == ["n/.env"]


def test_ignored_and_held_files_are_told(tmp_path: Path) -> None:
    lay(tmp_path, {"a/.env": "x", "b/.env": "é\n" * 300, "c/.env": "x", ".gitignore": "/a\n"})
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "b")
    look = {one.name: one for one in SecretFiles(str(tmp_path), may_hold_secrets).find_secrets()}
    assert [(name, look[name].ignored, look[name].in_git) for name in sorted(look)] == [
        ("a/.env", True, False),
        ("b/.env", False, True),
        ("c/.env", False, False),
    ]
    data = (tmp_path / "b/.env").read_bytes()
    assert hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() in git(
        tmp_path, "ls-files", "-s"
    )


@pytest.mark.slow
def test_the_look_is_bounded_and_begins_at_the_top(tmp_path: Path) -> None:
    for at in range(MAX_FOLDERS + 5):
        (tmp_path / f"d{at}").mkdir()
    lay(tmp_path, {"d0/x/.env": "x", "z/.env": "x", ".env": "x"})
    assert found(tmp_path)[0] == ".env"
    assert "d0/x/.env" not in found(tmp_path)


def test_the_sandbox_of_macos_names_them() -> None:
    places = Mounts((), (), ("/work",), (), (), masked=("/work/.env", "/work/.aws/"))
    said = seatbelt.build_profile(places, "/p", network=False)
    assert '(deny file-read-data file-write* (subpath "/work/.env") (subpath "/work/.aws"))' in said
