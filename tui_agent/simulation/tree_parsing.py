"""Conversion of a plain instruction to a task tree by a model."""

import json
from typing import Any

from tui_agent.errors import ConfigError, ModelError
from tui_agent.simulation.model_caller import ModelCaller, user_text
from tui_agent.simulation.task_tree import TaskNode, parse_task_tree
from tui_agent.simulation.templates import render

MAX_ATTEMPTS = 3
CONVERSATION = "tree"
ANSWER = "the model's tree"


async def ask_for_tree(caller: ModelCaller, task: str, template: str) -> TaskNode:
    """Let a model turn the task into a tree. Raise `ModelError` after three invalid answers."""
    error = ""
    for _ in range(MAX_ATTEMPTS):
        prompt = render(template, "tree_template", task=task, error=error)
        try:
            return parse_answer(await caller.ask("", (user_text(prompt),), CONVERSATION))
        except ConfigError as raised:
            error = raised.message
    raise ModelError(
        f"The model gave no valid task tree in {MAX_ATTEMPTS} answers: {error}",
        hint="Try another model, or write the tree yourself (--tree FILE).",
    )


def parse_answer(text: str) -> TaskNode:
    """Parse the task tree from the first JSON object or list in the text.

    Raise `ConfigError` if the text has no JSON, or if the tree is not valid.
    """
    start = min((place for place in (text.find("{"), text.find("[")) if place >= 0), default=-1)
    if start < 0:
        raise ConfigError("the answer has no JSON object.")
    try:
        tree: Any = json.JSONDecoder().raw_decode(text, start)[0]
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"the answer is not valid JSON: {error}.") from error
    return parse_task_tree(tree, ANSWER)
