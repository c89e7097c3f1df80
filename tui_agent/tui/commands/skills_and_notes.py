"""Commands about the agent's knowledge: skills, memory, notes, and a first AGENTS.md.

Invariant: skills are shown as the session loaded them, notes as they are on disk.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tui_agent.config.extensions.note_files import NoteFile, list_notes, notes_folder, read_note
from tui_agent.folds.context.memory import TITLES, list_blocks
from tui_agent.protocol.app_commands import NO_OWN_COMMANDS
from tui_agent.protocol.commands import SubmitPrompt, WriteGuide
from tui_agent.tui.app_context import AppContext
from tui_agent.tui.commands.sheets import open_picker
from tui_agent.tui.keys_and_commands import TYPED
from tui_agent.tui.modals.picker import Item
from tui_agent.tui.modals.viewer import show
from tui_agent.tui.untrusted_text import clean_line
from tui_agent.tui.widgets.facts import Facts
from tui_agent.units import format_bytes, format_day

GUIDE: Final = """Write AGENTS.md at the top of this workspace: what a coding agent must know before it changes anything here.

Look first: README, CONTRIBUTING, the build files, the CI's configuration, the tests, the layout. Then write, in at most 60 \
lines of plain Markdown:
- what this is, in one or two sentences;
- the exact commands to install, build, run, lint and test, and how to run a single test;
- the layout: what is in which folder, and the dependencies between the parts;
- the conventions seen in the code and its docs: style, names, errors, tests;
- traps: generated files, what must not be touched, what is slow.
Write only what you have seen in the files, nothing that is true of every project. If there is an AGENTS.md already, keep \
what is right in it and improve it. Rule files of other agents (CLAUDE.md, .cursorrules, .github/copilot-instructions.md) are \
worth reading."""


def choose_skill(context: AppContext, argument: str) -> None:
    """List the skills with their origin; insert the chosen skill into the message."""
    items = [
        Item(
            skill.name,
            clean_line(skill.name),
            about=clean_line(skill.fault or skill.description),
            right=skill.origin,
            offered=not skill.fault,
        )
        for skill in sorted(context.state.skills, key=lambda skill: bool(skill.fault))
    ]
    where = "skills/NAME/SKILL.md in your configuration folder, or .tui_agent/skills/ of a trusted project"

    def choose(name: str) -> None:
        context.editor.prefix_text(f"Use the skill {name}: ")

    open_picker(context, "Skills", items, choose, empty=f"No skills. Add one as {where}.")


def list_commands(context: AppContext, argument: str) -> None:
    """List the slash commands of plugins, files and servers; insert the chosen command into the message."""
    items = [
        Item(
            item.name,
            clean_line(f"/{item.name} {item.arguments}"),
            about=clean_line(
                item.help if f"/{item.name}" not in TYPED else "the app has its own command of this name"
            ),
            right=owner,
            more=clean_line(item.source),
            offered=f"/{item.name}" not in TYPED,
        )
        for owner, offered in sorted(context.state.commands.items())
        for item in offered
    ]
    open_picker(
        context,
        "Commands",
        items,
        lambda name: context.editor.prefix_text(f"/{name} "),
        empty=NO_OWN_COMMANDS,
    )


def write_guide(context: AppContext, argument: str) -> None:
    """Create a first AGENTS.md, written by the model or, without a model, by the engine."""
    if context.has_model:
        context.submit(SubmitPrompt(text=GUIDE))
    else:
        context.submit(WriteGuide())


def show_memory(context: AppContext, argument: str) -> None:
    """Show the working memory and the notes of earlier sessions, or the note named `argument`."""
    note_files: list[NoteFile] | None = None

    def draw(facts: Facts) -> None:
        _draw_working_memory(context, facts)
        facts.gap()
        _draw_notes(facts, note_files)

    if argument:
        _show_note(context, argument)
        return
    viewer = show(context, "Memory", draw)
    viewer.follows = frozenset({"state"})

    async def read() -> None:
        nonlocal note_files
        note_files = await _read_notes(context)
        viewer.redraw()

    context.worker(read(), "notes")


def _draw_working_memory(context: AppContext, facts: Facts) -> None:
    settings = context.state.settings
    mode = settings.context_mode if settings is not None else "pack"
    facts.text("This task", bold=True)
    for title, lines in list_blocks(context.state.memory):
        for index, line in enumerate(lines):
            name, _, detail = line.partition(": ")
            if title == TITLES["task"]:
                facts.pair(name.capitalize(), clean_line(detail), names=18)
            else:
                facts.pair("" if index else title, clean_line(line), names=18)
    if mode == "none":
        facts.text("No notes are taken in context mode `none`.", "t3")
        return
    if len(facts.rows) == 1:
        facts.text("Nothing yet. What the agent reads, changes and tests appears here.", "t3")
    facts.gap()
    if mode == "memory":
        facts.text("Sent to the model with each request.", "t3")
    else:
        facts.text("Sent to the model only with --context-mode memory.", "t3")


async def _read_notes(context: AppContext) -> list[NoteFile]:
    config = context.config
    if config is None:
        return []
    workspace = Path(context.work_folder)
    return await asyncio.to_thread(lambda: list_notes(notes_folder(config, workspace)))


def _show_note(context: AppContext, name: str) -> None:
    async def read() -> None:
        files = await _read_notes(context)
        note = next((file for file in files if name in (file.path.name, file.path.stem)), None)
        text = None if note is None else await asyncio.to_thread(read_note, note.path)
        if note is None or text is None:
            context.app.say(f"There is no note {clean_line(name)}. /memory lists the notes.", "warning")
            return
        show(context, note.path.name, lambda facts: facts.text(text), plain=text)

    context.worker(read(), "notes")


def _draw_notes(facts: Facts, files: Sequence[NoteFile] | None) -> None:
    facts.text("Notes of earlier sessions", bold=True)
    if files is None:
        facts.text("loading …", "t3")
        return
    if not files:
        text = "No notes yet. The agent writes them with write_note and asks you first. You can add Markdown files too."
        facts.text(text, "t3")
        return
    names = min(32, max(len(file.path.stem) for file in files) + 2)
    for file in files:
        day = format_day(file.modified)
        about = f"{day}  {format_bytes(file.size)}  {clean_line(file.title)}"
        facts.pair(clean_line(file.path.stem)[: names - 2], about, names=names)
    facts.gap()
    facts.text("/memory NAME shows a note.", "t3")
    facts.text(f"The notes are in {files[0].path.parent}.", "t3")
