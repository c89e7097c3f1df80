"""read_skill: the instructions of a skill, or one of its other files."""

import asyncio

from pydantic import Field

from tui_agent.plugin_api import (
    BaseTool,
    Effect,
    FrozenModel,
    InternalEffect,
    MarkdownBlock,
    TextBlock,
    ToolContext,
    ToolError,
    ToolResult,
    format_count,
    load_spec,
    text_result,
)

MAX_CHARS = 60_000


class ReadSkillArgs(FrozenModel):
    """Arguments of read_skill."""

    name: str
    file: str = Field(default="", description="a file in the skill's folder; empty: its instructions")


class ReadSkill(BaseTool):
    """Reads files of the session's skills and nothing else."""

    def __init__(self) -> None:
        self.spec = load_spec(
            "read_skill", __file__, ReadSkillArgs, verb="skill", parallel_safe=True, needs={"skills"}
        )

    def target(self, args: ReadSkillArgs) -> str:
        """Return the skill, and the file if one is given."""
        return f"{args.name}/{args.file}" if args.file else args.name

    def effects(self, args: ReadSkillArgs) -> tuple[Effect, ...]:
        """Return an internal effect: only skills loaded into the session are read."""
        return (InternalEffect(subject=f"the skill {args.name}"),)

    async def run(self, args: ReadSkillArgs, ctx: ToolContext) -> ToolResult:
        """Return the text; for the instructions also the names of the other files."""
        if ctx.skills is None:
            raise ToolError("This session has no skills.")
        skill = await asyncio.to_thread(ctx.skills.read, args.name, args.file)
        text = skill.text[:MAX_CHARS]
        notes = (
            [f"[cut at {MAX_CHARS:,} of {len(skill.text):,} characters]"]
            if len(skill.text) > len(text)
            else []
        )
        if not args.file and skill.files:
            notes.append(f"[files of this skill: {', '.join(skill.files)}]")
        lines = text.count("\n") + 1
        shown = ctx.blobs.put_text(text)
        return text_result(
            "\n\n".join((text, *notes)),
            summary=format_count(lines, "line"),
            display=(MarkdownBlock(text=shown) if skill.file.endswith(".md") else TextBlock(text=shown),),
            data={"skill": skill.name, "file": skill.file, "files": list(skill.files)},
        )
