"""What the agent can read up on: skills, notes of earlier sessions, and a first AGENTS.md.

Invariant: skills are shown as the session has them; notes as they lie in their folder now.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

from textual.strip import Strip

from tui_agent.config.notes import NoteFile, notes, notes_folder, text_of_note
from tui_agent.folds.context.memory import told
from tui_agent.protocol.commands import SubmitPrompt, WriteGuide
from tui_agent.tui.context import AppContext
from tui_agent.tui.modals.picker import Item, Picker
from tui_agent.tui.modals.viewer import Viewer, show
from tui_agent.tui.text import clean_line
from tui_agent.units import format_bytes

GUIDE: Final = """Write AGENTS.md at the top of this workspace: what a coding agent must know before it changes anything here.

Look first: README, CONTRIBUTING, the build files, the CI's configuration, the tests, the layout. Then write, in at most 60 \
lines of plain Markdown:
- what this is, in one or two sentences;
- the exact commands to install, build, run, lint and test, and how to run a single test;
- the layout: where what lies, and what depends on what;
- the conventions that the code shows and its documents say: style, names, errors, tests;
- traps: generated files, what must not be touched, what is slow.
Only what you have seen in the files, nothing that holds for every project. Where there is an AGENTS.md already, keep what is \
right in it and improve it. Files of other agents' rules (CLAUDE.md, .cursorrules, .github/copilot-instructions.md) are \
worth reading for it."""


def skills(context: AppContext, argument: str) -> None:
    """The skills, with whose they are; the chosen one goes into the message."""
    items = [
        Item(
            one.name,
            clean_line(one.name),
            about=clean_line(one.fault or one.description),
            right=one.origin,
            offered=not one.fault,
        )
        for one in sorted(context.state.skills, key=lambda one: bool(one.fault))
    ]
    where = "skills/NAME/SKILL.md in your configuration folder, or .tui_agent/skills/ of a trusted project"
    picker = Picker(lambda: context.app.looks, "Skills", items, empty=f"No skills. One is {where}.")

    def chosen(value: str | None) -> None:
        if value is not None:
            context.prompt.prefix_text(f"Use the skill {value}: ")

    context.app.push_screen(picker, chosen)


def init(context: AppContext, argument: str) -> None:
    """A first AGENTS.md: by the model where there is one, else from what the repository's files say."""
    if context.has_model:
        context.submit(SubmitPrompt(text=GUIDE))
    else:
        context.submit(WriteGuide())


def memory(context: AppContext, argument: str) -> None:
    """What is remembered: of the task, as it changes, and the notes of earlier sessions. With a name: that note."""
    held: list[NoteFile] | None = None

    def draw(viewer: Viewer, width: int) -> list[Strip]:
        return [*_of_the_task(context, viewer, width), viewer.gap(width), *_notes(viewer, width, held)]

    if argument:
        _one_note(context, argument)
        return
    viewer = show(context, "Memory", draw)
    viewer.follows = frozenset({"state"})

    async def look() -> None:
        nonlocal held
        held = [] if context.config is None else await asyncio.to_thread(notes, notes_folder(context.config))
        if viewer.is_attached:
            viewer.redraw()

    context.worker(look(), "notes")


def _of_the_task(context: AppContext, viewer: Viewer, width: int) -> list[Strip]:
    """The working memory as it is now."""
    settings = context.state.settings
    mode = settings.context_mode if settings is not None else "pack"
    rows = [viewer.heading(width, "Of this task")]
    for title, some in told(context.state.memory):
        for at, line in enumerate(some):
            rows += viewer.pair(width, "" if at else title, clean_line(line), names=18)
    if mode == "none":
        return [*rows, *viewer.say(width, "Nothing is noted in context mode none.", "t3")]
    if len(rows) == 1:
        rows += viewer.say(width, "Nothing yet. The agent's reads, changes and tests are noted here.", "t3")
    sent = "It goes" if mode == "memory" else "Only --context-mode memory sends it"
    return [*rows, *viewer.say(width, f"{sent} to the model with each request.", "t3")]


def _one_note(context: AppContext, name: str) -> None:
    """One note, by the name of its file."""

    async def look() -> None:
        found = [] if context.config is None else await asyncio.to_thread(notes, notes_folder(context.config))
        note = next((one for one in found if name in (one.path.name, one.path.stem)), None)
        text = None if note is None else await asyncio.to_thread(text_of_note, note.path)
        if note is None or text is None:
            context.app.say(f"There is no note {clean_line(name)}. /memory lists them.", "warning")
            return
        show(context, note.path.name, lambda viewer, width: viewer.say(width, text, "t1"), plain=text)

    context.worker(look(), "notes")


def _notes(viewer: Viewer, width: int, held: Sequence[NoteFile] | None) -> list[Strip]:
    rows = [viewer.heading(width, "Notes of earlier sessions")]
    if held is None:
        return [*rows, *viewer.say(width, "looking …", "t3")]
    if not held:
        words = "None yet. The agent writes one with write_note, and asks you first; a Markdown file of yours counts too."
        return [*rows, *viewer.say(width, words, "t3")]
    names = min(32, max(len(one.path.stem) for one in held) + 2)
    for one in held:
        day = time.strftime("%Y-%m-%d", time.localtime(one.at))
        about = f"{day}  {format_bytes(one.size)}  {clean_line(one.title)}"
        rows += viewer.pair(width, clean_line(one.path.stem)[: names - 2], about, names=names)
    rows += [viewer.gap(width), *viewer.say(width, "/memory NAME shows one.", "t3")]
    return [*rows, *viewer.say(width, f"They lie in {held[0].path.parent}.", "t3")]


HANDLERS: dict[str, Callable[[AppContext, str], None]] = {"skills": skills, "init": init, "memory": memory}
