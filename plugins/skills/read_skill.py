"""read_skill: reads a skill's instructions, or another of its files."""

import asyncio

import tui_agent.plugin_api as api

MAX_CHARS = 60_000


class ReadSkillArgs(api.FrozenModel):
    """Arguments of read_skill."""

    name: str
    file: str = ""


class ReadSkill(api.BaseTool):
    """Tool that reads files of the session's skills, and no other files."""

    def __init__(self) -> None:
        self.spec = api.load_spec(
            "read_skill", __file__, ReadSkillArgs, verb="skill", parallel_safe=True, needs={"skills"}
        )

    def target(self, args: ReadSkillArgs) -> str:
        """Return the skill's name, followed by the file if one is given."""
        return f"{args.name}/{args.file}" if args.file else args.name

    def effects(self, args: ReadSkillArgs) -> tuple[api.Effect, ...]:
        """Return an effect on the session only, because only skills loaded into the session are read."""
        return (api.InternalEffect(subject=f"the skill {args.name}"),)

    async def run(self, args: ReadSkillArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Return the text of the skill's file; after the instructions, also the names of its other files."""
        if ctx.skills is None:
            raise api.ToolError("This session has no skills.")
        skill = await asyncio.to_thread(ctx.skills.read, args.name, args.file)
        text = skill.text[:MAX_CHARS]
        notes: list[str] = []
        if len(skill.text) > len(text):
            notes.append(f"[cut at {MAX_CHARS:,} of {len(skill.text):,} characters]")
        if not args.file and skill.files:
            notes.append(f"[files of this skill: {', '.join(skill.files)}]")
        lines = text.count("\n") + 1
        shown = ctx.blobs.put_text(text)
        return api.text_result(
            "\n\n".join((text, *notes)),
            summary=api.format_count(lines, "line"),
            display=(
                api.MarkdownBlock(text=shown) if skill.file.endswith(".md") else api.TextBlock(text=shown),
            ),
            data={"skill": skill.name, "file": skill.file, "files": list(skill.files)},
        )
