"""present_plan: shows a plan to the user. The user approves, edits or rejects it."""

from pydantic import Field

import tui_agent.plugin_api as api

OPTIONS = ("Approve; ask me before changes", "Approve; accept edits", "Keep planning")
"""The answers that the user can choose; the last one rejects the plan."""
REFUSAL_INDEX = 2


class PresentPlanArgs(api.FrozenModel):
    """Arguments of present_plan."""

    plan: str = Field(description="Markdown")


class PresentPlan(api.SessionTool):
    """Tool that shows a plan to the user and waits for a decision.

    The decision can come with a text: the edited plan, or the reason for a rejection.
    """

    subject = "plan"

    def __init__(self) -> None:
        self.spec = api.load_spec(
            "present_plan", __file__, PresentPlanArgs, verb="plan", timeout=None, needs={"ask"}, policy="plan"
        )

    def target(self, args: PresentPlanArgs) -> str:
        return args.plan.strip().split("\n")[0].lstrip("# ")

    async def run(self, args: PresentPlanArgs, ctx: api.ToolContext) -> api.ToolResult:
        """Return the user's decision on the plan."""
        plan = args.plan.strip()
        if not plan:
            raise api.ToolError("The plan is empty.")
        if ctx.ask is None:
            raise api.ToolError(
                "No user can approve a plan in this run.", hint="Give the plan as your answer instead."
            )
        answer = await ctx.ask(plan, OPTIONS, "plan")
        words = answer.text.strip()
        block = api.MarkdownBlock(text=ctx.blobs.put_text(plan))
        if answer.choice is None or answer.choice >= REFUSAL_INDEX:
            decision = f"The user refused the plan: {words}" if words else "The user refused the plan."
            return api.text_result(
                f"{decision}\nChange nothing; revise the plan.",
                summary="refused",
                display=(block,),
                data={"plan": "refused"},
            )
        if words and words not in (plan, OPTIONS[answer.choice]):
            return api.text_result(
                f"The user edited the plan and approved this:\n\n{words}",
                summary="edited",
                display=(api.MarkdownBlock(text=ctx.blobs.put_text(words)),),
                data={"plan": "edited"},
            )
        return api.text_result(
            "The user approved the plan. Carry it out.",
            summary="approved",
            display=(block,),
            data={"plan": "approved"},
        )
