"""spawn_subtask: a task for an agent with its own context."""

from pydantic import Field

from tui_agent.plugin_api import (
    BaseTool,
    DelegateTask,
    Effect,
    Environment,
    FrozenModel,
    InternalEffect,
    JsonMap,
    MarkdownBlock,
    Preview,
    ToolContext,
    ToolError,
    ToolResult,
    ToolSpec,
    tool_description,
)

from .reports import delegate_result, file_rows

MAX_TOKENS = 4_096


class SpawnSubtaskArgs(FrozenModel):
    """Arguments of spawn_subtask."""

    prompt: str = Field(min_length=1, description="the whole task: paths, names, when it is done")
    allowed_tools: tuple[str, ...] | None = Field(
        default=None,
        description="tool names; default: read_file, write_file, edit_file, list_directory, glob, grep",
    )
    max_tokens: int = Field(
        default=MAX_TOKENS, ge=256, le=65_536, description="maximum tokens of each of its answers"
    )
    agent: str = Field(default="", description="a named agent")


class SpawnSubtask(BaseTool):
    """Runs a delegate and returns its report."""

    def __init__(self) -> None:
        self.spec = ToolSpec(
            name="spawn_subtask",
            description=tool_description(__file__),
            args=SpawnSubtaskArgs,
            verb="[Subtask]",
            timeout=None,
            parallel_safe=True,
            parallel_group="subtasks",
            needs=frozenset({"delegate"}),
        )

    def target(self, args: SpawnSubtaskArgs) -> str:
        """Return the agent's name, if given, and the task."""
        task = " ".join(args.prompt.split())
        return f"{args.agent}: {task}" if args.agent else task

    def effects(self, args: SpawnSubtaskArgs) -> tuple[Effect, ...]:
        """Return an internal effect: the delegate's own calls are judged one by one."""
        return (InternalEffect(subject="subtask"),)

    async def preview(self, args: SpawnSubtaskArgs, env: Environment) -> Preview:
        """Return an empty preview: the task says enough."""
        return Preview((), content=args.prompt)

    async def run(self, args: SpawnSubtaskArgs, ctx: ToolContext) -> ToolResult:
        """Return the delegate's report, never its conversation."""
        if ctx.delegate is None:
            raise ToolError("Tasks cannot be delegated in this run.")
        errand = DelegateTask(task=args.prompt, tools=args.allowed_tools, max_tokens=args.max_tokens)
        if args.agent:
            errand = DelegateTask(args.prompt, args.agent, args.allowed_tools, args.max_tokens)
        report = await ctx.delegate.run(errand)
        answer: JsonMap = {
            "summary": report.summary,
            "files_created": list(report.files_created),
            "files_modified": list(report.files_modified),
        }
        return delegate_result(report, answer, (MarkdownBlock(text=report.summary), *file_rows(report)))
