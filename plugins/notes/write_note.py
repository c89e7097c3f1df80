"""write_note: saves a note for later sessions, with the user's consent."""

import asyncio
import re
from pathlib import Path

from pydantic import Field

import tui_agent.plugin_api as api

MAX_TITLE = 100


class WriteNoteArgs(api.FrozenModel):
    """Arguments of write_note."""

    title: str = Field(min_length=1, max_length=MAX_TITLE)
    text: str = Field(min_length=1, description="Markdown")


class WriteNote(api.BaseTool):
    """Tool that writes one note. The policy treats this as a write outside the workspace."""

    def __init__(self, folder: Path) -> None:
        self.spec = api.load_spec("write_note", __file__, WriteNoteArgs, verb="note", needs={"ask"})
        self._folder = folder

    def target(self, args: WriteNoteArgs) -> str:
        return args.title

    def effects(self, args: WriteNoteArgs) -> tuple[api.Effect, ...]:
        return (api.WriteEffect(path=str(note_path(self._folder, args.title))),)

    async def preview(self, args: WriteNoteArgs, env: api.Environment) -> api.Preview:
        """Return the diff against the existing note as the preview."""
        block, _ = await asyncio.to_thread(self._diff_note, args.title, format_note(args.title, args.text))
        return api.Preview(
            (block,), content=block.diff if isinstance(block.diff, str) else block.diff.blob_sha256
        )

    async def run(self, args: WriteNoteArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Redact the secrets in the note and write it."""
        if ctx.blobs.read_text(ctx.blobs.put_text(args.title)) != args.title:
            raise api.ToolError(
                "The title contains a secret, which would become part of the file's name.",
                hint="Choose another title.",
            )
        redacted = ctx.blobs.read_text(ctx.blobs.put_text(format_note(args.title, args.text)))
        if len(redacted.encode()) > api.NOTE_BYTES:
            raise api.ToolError(
                f"The note is larger than {api.format_bytes(api.NOTE_BYTES)}.",
                hint="Shorten it to what matters.",
            )
        block, new = await asyncio.to_thread(self._diff_note, args.title, redacted)
        path = note_path(self._folder, args.title)
        try:
            await asyncio.to_thread(api.replace_private, path, redacted)
        except OSError as error:
            raise api.ToolError(f"The note {path} cannot be written: {error.strerror}.") from error
        message = f"{'Saved' if new else 'Replaced'} the note {path.name}."
        return api.text_result(
            message,
            summary="new" if new else api.describe_line_changes(block.added, block.removed),
            display=(block,),
            data={"path": str(path)},
        )

    def _diff_note(self, title: str, after: str) -> tuple[api.DiffBlock, bool]:
        path = note_path(self._folder, title)
        before = api.read_note(path)
        diff = api.diff_lines(before or "", after)
        block = api.DiffBlock(path=str(path), diff=diff.text, added=diff.added, removed=diff.removed)
        return block, before is None


def note_path(folder: Path, title: str) -> Path:
    """Return the path of the note with the title `title`."""
    slug = re.sub(r"[^\w]+", "-", title.lower(), flags=re.ASCII).strip("-")[:60]
    if not slug:
        slug = f"note-{abs(_title_hash(title)):x}"
    return folder / f"{slug}.md"


def _title_hash(text: str) -> int:
    """Return a number for a title; the same title always gives the same number.

    The number is a part of the file's name if the title has no ASCII letters or digits.
    """
    # Python's `hash` of a text differs between processes.
    number = 0
    for char in text:
        number = (number * 131 + ord(char)) % (1 << 32)
    return number


def format_note(title: str, text: str) -> str:
    """Return the note as it is written to its file: the title as a heading, then the text."""
    return f"# {' '.join(title.split())}\n\n{text.strip()}\n"
