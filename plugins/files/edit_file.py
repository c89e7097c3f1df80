"""edit_file: replaces a piece of text in a file.

Invariant: `old_text` must be equal to the text in the file, except for line endings.
"""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import tui_agent.plugin_api as api

from .edit_mismatch import explain_mismatch
from .planned_change import (
    FileChange,
    compute_change,
    describe_binary,
    preview_change,
    read_existing,
    write_change,
)

MAX_BYTES = 20_000_000


class EditFileArgs(api.FrozenModel):
    """Arguments of edit_file."""

    path: str
    old_text: str
    new_text: str
    replace_all: bool = False


class EditFile(api.BaseTool):
    """Tool that replaces a text that occurs exactly once in a file.

    With `replace_all`, the tool replaces every occurrence. The session must then have read the file's current content.
    """

    def __init__(self) -> None:
        self.spec = api.load_spec("edit_file", __file__, EditFileArgs, verb="edit")

    def target(self, args: EditFileArgs) -> str:
        return args.path

    def effects(self, args: EditFileArgs) -> tuple[api.Effect, ...]:
        return (api.WriteEffect(path=args.path),)

    async def predict_failure(
        self, args: EditFileArgs, env: api.Environment, state: api.SessionStateView
    ) -> None:
        """Raise `ToolError` if the edit would fail and the session has not read the file's current content.

        For a file that the session has read, `preview` raises the error.
        """
        content = await _read_base(args, env, state)
        # `preview` does not know whether the file was read, on which the hint of an error depends.
        if not _is_read(content, state):
            await asyncio.to_thread(_replace_text, args, content, is_read=False)

    async def preview(self, args: EditFileArgs, env: api.Environment) -> api.Preview:
        """Return the diff of the edit as the preview."""
        return preview_change((await _compute_edit(args, await _read_base(args, env)))[0])

    async def run(self, args: EditFileArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Write the edited file, and report the changed lines."""
        content = await _read_base(args, ctx.env, ctx.state)
        change, lines = await _compute_edit(args, content, is_read=_is_read(content, ctx.state))
        where = f"({api.format_count(len(lines), 'place')}) at lines" if len(lines) > 1 else "at line"
        message = f"Edited {content.path} {where} {_list_lines(lines, 10)}: +{change.diff.added} -{change.diff.removed} lines."
        if api.has_foreign_changes(content, ctx.state):
            message += " The file had changed since it was last read."
        return await write_change(change, message, ctx)


async def _read_base(
    args: EditFileArgs, env: api.Environment, state: api.SessionStateView | None = None
) -> api.FileContent:
    if not args.old_text:
        raise api.ToolError("old_text is empty.", hint="Use write_file to create or replace a whole file.")
    if args.old_text == args.new_text:
        raise api.ToolError("old_text and new_text are the same: nothing would change.")
    content = await read_existing(args.path, env)
    if content is None:
        hint = await api.suggest_paths(args.path, env, "file") or "Create it with write_file."
        raise api.ToolError(f"File not found: {args.path}.", hint=hint)
    if args.replace_all and state is not None:
        api.require_current_read(content, state)
    return content


def _is_read(content: api.FileContent, state: api.SessionStateView) -> bool:
    return api.last_read_digest(content, state) == content.digest


async def _compute_edit(
    args: EditFileArgs, content: api.FileContent, *, is_read: bool = True
) -> tuple[FileChange, list[int]]:
    data, lines = await asyncio.to_thread(_replace_text, args, content, is_read=is_read)
    return await compute_change(content.path, content, data), lines


def _replace_text(args: EditFileArgs, content: api.FileContent, *, is_read: bool) -> tuple[bytes, list[int]]:
    """Apply the edit to the file's content. Return the new bytes, and the first changed line of each replacement.

    Raise `ToolError` if the edit is not possible. `is_read`: True if the session has read the present content.
    """
    decoded = api.decode_text(content.data)
    if decoded is None:
        raise api.ToolError(
            f"{content.path} is not text ({describe_binary(content.data)}) and cannot be edited."
        )
    matches = find_matches(decoded.text, args.old_text)
    if not matches:
        placeholder = api.find_new_placeholder(args.old_text, decoded.text)
        if placeholder:
            raise api.ToolError(
                f"old_text contains {placeholder}, which stands for a value that is hidden from you.",
                hint="Choose old_text without it: other lines, or a part of the line before or after it.",
            )
        raise api.ToolError(
            f"old_text was not found in {api.escape_unprintable(content.path)}.\n{explain_mismatch(decoded.display_text, args.old_text)}"
        )
    if len(matches) > 1 and not args.replace_all:
        lines = _first_lines(decoded.text, matches)
        read_first = "" if is_read else "read the file with read_file, then "
        raise api.ToolError(
            f"old_text occurs {len(matches)} times in {api.escape_unprintable(content.path)}: lines {_list_lines(lines, 20)}.",
            hint=f"Add surrounding lines until it is unique, or {read_first}set replace_all=true.",
        )
    api.require_no_placeholder("new_text", args.new_text, content)
    data = api.encode_text(decoded, replace_matches(decoded.text, matches, args.new_text))
    if data is None:
        raise api.ToolError(
            f"new_text contains a character that {content.path} ({decoded.note}) cannot encode."
        )
    if len(data) > MAX_BYTES:
        raise api.ToolError(
            f"{content.path} would grow to {api.format_bytes(len(data))}; the limit is {api.format_bytes(MAX_BYTES)}."
        )
    return data, changed_lines(decoded.text, matches, args.new_text)


def _list_lines(lines: Sequence[int], limit: int) -> str:
    distinct = list(dict.fromkeys(lines))
    return ", ".join(map(str, distinct[:limit])) + (", …" if len(distinct) > limit else "")


@dataclass(frozen=True, slots=True)
class Match:
    """A match of `old_text` in a file. `end` is exclusive.

    `ending`: the kind of line ending in the matched text.
    """

    start: int
    end: int
    ending: str


def find_matches(text: str, old: str) -> list[Match]:
    """Return the non-overlapping matches of `old`, in order. Line endings may differ."""
    if "\r" not in text and "\r" not in old:
        return _find_plain(text, old)
    if "\r\n" not in text:
        # The model may write other line endings than those of the file.
        return _find_plain(text, old) or _find_plain(text, old.replace("\r\n", "\n"))
    pattern = "\r?\n".join(re.escape(line) for line in old.replace("\r\n", "\n").split("\n"))
    # For a match inside one line: the new text gets the line ending that is more frequent in the file.
    usual = "\r\n" if 2 * text.count("\r\n") >= text.count("\n") else "\n"
    return [
        Match(match.start(), match.end(), _line_ending(match.group(), usual))
        for match in re.finditer(pattern, text)
    ]


def _find_plain(text: str, old: str) -> list[Match]:
    return [Match(match.start(), match.end(), "\n") for match in re.finditer(re.escape(old), text)]


def _line_ending(piece: str, usual: str) -> str:
    if "\n" not in piece:
        return usual
    return "\r\n" if "\r\n" in piece else "\n"


def replace_matches(text: str, places: Sequence[Match], new: str) -> str:
    """Return `text` after replacing each match in `places` by `new`.

    The replacement gets the line endings of the matched text.
    """
    pieces: list[str] = []
    position = 0
    for place in places:
        pieces += [text[position : place.start], _with_ending(new, place.ending)]
        position = place.end
    return "".join([*pieces, text[position:]])


def _with_ending(new: str, ending: str) -> str:
    return new.replace("\r\n", "\n").replace("\n", "\r\n") if ending == "\r\n" else new


def _first_lines(text: str, matches: Sequence[Match]) -> list[int]:
    lines: list[int] = []
    line, position = 1, 0
    for match in matches:
        line += text.count("\n", position, match.start)
        lines.append(line)
        position = match.start
    return lines


def changed_lines(text: str, matches: Sequence[Match], new: str) -> list[int]:
    """Return the number of the first changed line of each replacement, counted in the new text."""
    lines: list[int] = []
    line, position = 1, 0
    for match in matches:
        line += text.count("\n", position, match.start)
        replacement = _with_ending(new, match.ending)
        pairs = zip(text[match.start : match.end].split("\n"), replacement.split("\n"), strict=False)
        lines.append(line + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs)))
        line += replacement.count("\n")
        position = match.end
    return lines
