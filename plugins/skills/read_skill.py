"""read_skill: reads a skill's instructions, or another of its files."""

import asyncio

import tui_agent.plugin_api as api

MAX_CHARS = 60_000


def _effects(name: str, file: str) -> tuple[api.Effect, ...]:
    """Return an effect on the session only, because a call can read only the session's skills."""
    return (api.InternalEffect(subject=f"the skill {name}"),)


def _target(name: str, file: str) -> str:
    return f"{name}/{file}" if file else name


@api.tool(effects=_effects, target=_target, verb="skill", parallel_safe=True, needs=["skills"])
async def read_skill(ctx: api.ToolContext, name: str, file: str = "") -> api.ToolResult:
    """Read a skill's instructions, or one of its files. To run its script, write it to the workspace first."""
    if ctx.skills is None:
        raise api.ToolError("This session has no skills.")
    skill = await asyncio.to_thread(ctx.skills.read, name, file)
    text = skill.text[:MAX_CHARS]
    notes: list[str] = []
    if len(skill.text) > len(text):
        notes.append(
            f"[cut at {api.format_number(MAX_CHARS)} of {api.format_number(len(skill.text))} characters]"
        )
    if not file and skill.files:
        notes.append(f"[files of this skill: {', '.join(skill.files)}]")
    lines = text.count("\n") + 1
    shown = ctx.blobs.put_text(text)
    return api.text_result(
        "\n\n".join((text, *notes)),
        summary=api.format_count(lines, "line"),
        display=(api.MarkdownBlock(text=shown) if skill.file.endswith(".md") else api.TextBlock(text=shown),),
        data={"skill": skill.name, "file": skill.file, "files": list(skill.files)},
    )
