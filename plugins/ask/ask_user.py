"""ask_user: asks the user one question, with or without options to choose from."""

from typing import Annotated

from pydantic import Field

import tui_agent.plugin_api as api

MAX_OPTIONS = 9
MAX_DATA_CHARS = 2_000
"""Maximum length of the answer in the field `data` of the tool's result, in characters."""


def _target(question: str, options: tuple[str, ...]) -> str:
    return question.strip().split("\n")[0]


@api.tool(internal="question", target=_target, verb="ask", timeout=None, needs=["ask"])
async def ask_user(
    ctx: api.ToolContext,
    question: str,
    options: Annotated[tuple[str, ...], Field(description="choices")] = (),
) -> api.ToolResult:
    """Ask the user one question that only they can decide."""
    question = question.strip()
    options = tuple(option.strip() for option in options if option.strip())
    if not question:
        raise api.ToolError("The question is empty.")
    if len(options) > MAX_OPTIONS:
        raise api.ToolError(f"{len(options)} options are too many; the limit is {MAX_OPTIONS}.")
    if ctx.ask is None:
        raise api.ToolError(
            "No user can answer in this run.", hint="Decide yourself and state your assumption."
        )
    answer = await ctx.ask(question, options, "choice" if options else "text")
    chosen = options[answer.choice] if answer.choice is not None and answer.choice < len(options) else ""
    text = answer.text.strip()
    reply = "\n".join(dict.fromkeys(piece for piece in (chosen, text) if piece))
    return api.text_result(
        reply or "The user gave no answer.",
        summary=(reply.split("\n")[0] or "no answer")[:60],
        display=(api.TextBlock(text=reply),) if reply else (),
        data={
            "choice": answer.choice,
            "answer": ctx.blobs.read_text(ctx.blobs.put_text(reply))[:MAX_DATA_CHARS],
        },
    )
