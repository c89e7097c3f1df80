"""The user's answer to a plan of the agent.

Invariant: an edited plan counts as approved only if the user chose to approve it.
"""

from tui_agent.protocol.base import LongText
from tui_agent.protocol.events.turn import QuestionAnswered, QuestionAsked


def own_words(plan: QuestionAsked, answer: QuestionAnswered) -> LongText:
    """Return the edited plan or the reason for the refusal, or an empty text."""
    # An answer without own words repeats the plan or the option.
    return "" if answer.answer in (plan.text, *plan.options) else answer.answer


def approved_plan(plan: QuestionAsked, answer: QuestionAnswered) -> LongText:
    """Return the plan that the user approved, as the user edited it, or an empty text if it was refused."""
    is_approved = answer.choice is not None and answer.choice < len(plan.options) - 1
    return (own_words(plan, answer) or plan.text) if is_approved else ""
