"""Branches and forks in a pseudo terminal: real keys, a real engine, real checkpoints and a scripted model."""

import json
from pathlib import Path

import pytest

from tests.e2e.conftest import Program
from tests.e2e.terminal import Terminal

pytestmark = pytest.mark.e2e

WRITES = """
answers:
  - text: I write it.
    calls: [{write_file: {path: a.txt, content: "one\\n"}}]
  - text: First done.
  - text: I write more.
    calls: [{edit_file: {path: a.txt, old_text: "one", new_text: "two"}}]
  - text: Second done.
"""
OTHERWISE = """
answers:
  - text: never said
  - text: never said
  - text: I write it in another way.
    calls: [{edit_file: {path: a.txt, old_text: "one", new_text: "something else"}}]
  - text: Done in another way.
"""


def talked(program: Program) -> Terminal:
    """The app after two turns: a.txt was written, then changed."""
    script, other = program.home / "script.yaml", program.home / "other.yaml"
    script.write_text(WRITES)
    other.write_text(OTHERWISE)
    words = ("-m", f"scripted:{script}", "--policy", "accept-edits", "write one")
    return Terminal(
        program.line(*words), size=(120, 40), cwd=program.workspace, environment=program.environment
    )


def content(folder: Path) -> str:
    return (folder / "a.txt").read_text()


def two_turns(terminal: Terminal) -> None:
    terminal.until_text("First done.")
    terminal.until_text("turn 1")
    terminal.send("write two\r")
    terminal.until_text("Second done.")
    terminal.until_text("turn 2")


def open_tree(terminal: Terminal) -> str:
    terminal.send("/tree\r")
    return terminal.until_text("  here")


def test_the_tree_leads_back_to_a_message_and_forward_to_the_branch_that_was_left(program: Program) -> None:
    with talked(program) as terminal:
        two_turns(terminal)
        assert content(program.workspace) == "two\n"
        shown = open_tree(terminal)
        assert "1 branch" in shown and "write one" in shown and "write two" in shown
        terminal.send("\x1b[A\r")
        terminal.until_text("Revert to after “write one”")
        terminal.until_text("a.txt")
        terminal.send("\r")
        terminal.until_text("Reverted to the turn “write one”")
        assert content(program.workspace) == "one\n"
        terminal.send("write two again\r")
        terminal.until_text("Second done.")
        terminal.until_text("turn 3")
        shown = open_tree(terminal)
        assert "2 branches" in shown and "branch at" in shown
        terminal.send("\x1b[H\r")
        terminal.until_text("Revert to the end of main")
        terminal.send("\r")
        terminal.until_text("write two")
        terminal.until(lambda screen: "write two again" not in screen, "the branch that was left")
        assert content(program.workspace) == "two\n"


def test_fork_and_what_if_work_in_folders_of_their_own_and_the_tree_shows_them(program: Program) -> None:
    with talked(program) as terminal:
        two_turns(terminal)
        terminal.send("/fork\r")
        terminal.until_text("work-fork-")
        terminal.send("\r")
        terminal.until_text("Forked from ses_")
        shown = open_tree(terminal)
        here = next(row for row in shown.splitlines() if "  here" in row)
        assert "fork at" in here and "main" in shown
        terminal.send("\x1b[H\r")
        terminal.until(lambda screen: "Tree" not in screen and "Second done." in screen, "the parent")
        (own,) = program.workspace.parent.glob("work-fork-*")
        assert content(own) == "two\n"
        answer_with_another_model(terminal, program)
    sessions = [
        json.loads(line)
        for line in program.run_in_process("sessions", "list", "--all", "--json").stdout.splitlines()
    ]
    assert len(sessions) == 3 and len([row for row in sessions if row["parent"]]) == 2


def answer_with_another_model(terminal: Terminal, program: Program) -> None:
    terminal.send("/what-if\r")
    terminal.until_text("What if")
    terminal.send("\r")
    terminal.until_text("type to filter")
    terminal.send(f"scripted:{program.home}/other.yaml\r")
    terminal.until(lambda screen: "To        scripted:" in screen, "the chosen model")
    terminal.send("\r")
    terminal.until_text("Done in another way.")
    assert content(program.workspace) == "two\n", "the original is as it was"
    (own,) = program.workspace.parent.glob("work-what-if-*")
    assert content(own) == "something else\n"
    shown = open_tree(terminal)
    assert "model scripted:" in shown and "again: write two" in shown
