"""ask_user: one question, with choices or in free words."""

from typing import ClassVar

from pydantic import Field

from tui_agent.plugin_api import (
    Effect,
    Environment,
    Frozen,
    Internal,
    Preview,
    TextBlock,
    TextContent,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
)

MAX_OPTIONS = 9
MAX_TOLD = 2_000
"""Characters of an answer that stand beside it in the result's data, as what may be remembered of it."""


class AskUserArgs(Frozen):
    """Arguments of ask_user."""

    question: str
    options: tuple[str, ...] = Field(default=(), description="choices; the user may answer in own words")


class AskUser:
    """Waits for the answer, however long it takes."""

    spec: ClassVar[ToolSpec]

    def target(self, args: AskUserArgs) -> str:
        """The question's first line."""
        return args.question.strip().split("\n")[0]

    def effects(self, args: AskUserArgs) -> tuple[Effect, ...]:
        """Only the session itself."""
        return (Internal(what="question"),)

    async def preview(self, args: AskUserArgs, env: Environment) -> Preview:
        """Nothing: it is never asked about."""
        return Preview(())

    async def run(self, args: AskUserArgs, ctx: ToolContext) -> ToolResult:
        """The chosen option, or the user's words."""
        question = args.question.strip()
        options = tuple(option.strip() for option in args.options if option.strip())
        if not question:
            raise ToolError("The question is empty.")
        if len(options) > MAX_OPTIONS:
            raise ToolError(f"{len(options)} options are too many; the limit is {MAX_OPTIONS}.")
        if ctx.ask is None:
            raise ToolError("No one is there to answer.", hint="Decide yourself and say what you assumed.")
        answer = await ctx.ask(question, options, "choice" if options else "text")
        chosen = options[answer.choice] if answer.choice is not None and answer.choice < len(options) else ""
        words = answer.text.strip()
        said = "\n".join(dict.fromkeys(text for text in (chosen, words) if text))
        return ToolResult(
            ok=True,
            content=(TextContent(text=said or "The user gave no answer."),),
            summary=(said.split("\n")[0] or "no answer")[:60],
            display=(TextBlock(text=said),) if said else (),
            data={"choice": answer.choice, "answer": ctx.blobs.text(ctx.blobs.keep(said))[:MAX_TOLD]},
        )


def make(description: str) -> AskUser:
    """The tool with its description for the model."""
    AskUser.spec = ToolSpec(
        name="ask_user",
        description=description,
        args=AskUserArgs,
        verb="ask",
        timeout=None,
        needs=frozenset({"ask"}),
    )
    return AskUser()
