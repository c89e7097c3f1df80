"""read_skill: the body of a skill, or a file that comes with it."""

import asyncio
from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    Frozen,
    Internal,
    MarkdownBlock,
    Preview,
    TextBlock,
    TextContent,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    counted,
)

MAX_CHARS = 60_000


class ReadSkillArgs(Frozen):
    """Arguments of read_skill."""

    name: str
    file: str = Field(default="", description="a file of the skill's folder; empty: its instructions")


class ReadSkill:
    """Reads what the session's skills hold, and nothing beside them."""

    spec: ClassVar[ToolSpec]

    def target(self, args: ReadSkillArgs) -> str:
        """The skill, and the file where one is asked for."""
        return f"{args.name}/{args.file}" if args.file else args.name

    def effects(self, args: ReadSkillArgs) -> tuple[Effect, ...]:
        """Only what was taken into the session."""
        return (Internal(what=f"the skill {args.name}"),)

    async def preview(self, args: ReadSkillArgs, env: Environment) -> Preview:
        """Nothing: it is never asked about."""
        return Preview(())

    async def run(self, args: ReadSkillArgs, ctx: ToolContext) -> ToolResult:
        """The text; of the body also the names of the other files."""
        if ctx.skills is None:
            raise ToolError("This session has no skills.")
        found = await asyncio.to_thread(ctx.skills.read, args.name, args.file)
        text = found.text[:MAX_CHARS]
        notes = (
            [f"[cut at {MAX_CHARS:,} of {len(found.text):,} characters]"]
            if len(found.text) > len(text)
            else []
        )
        if not args.file and found.files:
            notes.append(f"[files of this skill: {', '.join(found.files)}]")
        lines = text.count("\n") + 1
        shown = ctx.blobs.keep(text)
        return ToolResult(
            ok=True,
            content=(TextContent(text="\n\n".join((text, *notes))),),
            summary=counted(lines, "line"),
            display=(MarkdownBlock(text=shown) if found.file.endswith(".md") else TextBlock(text=shown),),
            data={"skill": found.name, "file": found.file, "files": list(found.files)},
        )


def make(description: str) -> ReadSkill:
    """The tool with its description for the model."""
    ReadSkill.spec = ToolSpec(
        name="read_skill",
        description=description,
        args=ReadSkillArgs,
        verb="skill",
        parallel_safe=True,
        needs=frozenset({"skills"}),
    )
    return ReadSkill()
