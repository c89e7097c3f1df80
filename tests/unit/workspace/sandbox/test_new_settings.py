"""Settings that other programs obey unasked do not stay if a confined command creates them: against the real bubblewrap."""

from pathlib import Path

import pytest

from tests.stubs.sandboxed import World, git

NOTE = (
    "{0} appeared while the command ran. It was renamed to {0}.sandboxed, because other programs use it without "
    "asking. Only the user may rename it back."
)
NAMES = (".claude", ".cursor", ".devcontainer", ".envrc", ".husky", ".mcp.json", ".tui_agent", ".vscode")


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != ".git")


@pytest.mark.slow_variants
@pytest.mark.parametrize("ending", ["", "; exit 3", "; kill -9 $$", "; sleep 60"])
async def test_new_settings_are_renamed_however_the_command_ends(base: Path, ending: str) -> None:
    with World(base) as world:
        folders = "mkdir .claude .cursor .devcontainer .husky .vscode; echo x > .claude/settings.json; ln -s a.txt .tui_agent"
        result = await world.attempt(
            f"{folders}; echo x > .envrc; mv -T .cursor .mcp.json; mkdir .cursor{ending}", timeout=3
        )
        await world.env.aclose()
        assert names(world.workspace) == sorted(["a.txt", *(f"{name}.sandboxed" for name in NAMES)])
        assert (world.workspace / ".claude.sandboxed/settings.json").read_text() == "x\n"
        assert sorted(note for note in result.notes if "appeared" in note) == [
            NOTE.format(name) for name in NAMES
        ]


async def test_settings_that_were_there_stay_and_a_second_one_gets_a_name_of_its_own(base: Path) -> None:
    with World(base) as world:
        (world.workspace / ".claude").mkdir()
        for _ in range(2):
            await world.attempt("echo x > .envrc; echo x > .claude/settings.json")
        await world.env.aclose()
        assert names(world.workspace) == [".claude", ".envrc.sandboxed", ".envrc.sandboxed1", "a.txt"]
        assert list((world.workspace / ".claude").iterdir()) == []


async def test_nothing_is_seen_of_the_sandbox_in_a_repository_and_a_stash_works(base: Path) -> None:
    with World(base) as world:
        (world.workspace / "new.txt").write_text("new\n")
        listed = await world.attempt("ls -A; git status --short")
        stashed = await world.attempt("git -c user.name=A -c user.email=a@b.c stash -qu")
        await world.env.aclose()
        assert listed.output == b".git\na.txt\nnew.txt\n?? new.txt\n"
        assert (stashed.exit_code, stashed.output, stashed.notes) == (0, b"", ())
        assert git(world.workspace, "stash", "list").count("\n") == 1
        assert names(world.workspace) == ["a.txt"]


async def test_who_destroys_the_repository_leaves_none_of_the_folder_itself(base: Path) -> None:
    with World(base) as world:
        await world.attempt("git init -q --bare x; mv x/* .; rm -f .git/HEAD")
        await world.env.aclose()
        assert "HEAD" not in names(world.workspace) and "HEAD.sandboxed" in names(world.workspace)
