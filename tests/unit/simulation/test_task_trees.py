"""Task trees: their order, how bad ones are rejected, and how a model makes one from an instruction."""

import pytest

from tests.stubs.rows import rows
from tests.unit.simulation.scripts import caller
from tui_agent.errors import ConfigError, ModelError
from tui_agent.simulation.mode_settings import load_orchestrated
from tui_agent.simulation.orchestration import ask_for_tree
from tui_agent.simulation.task_tree import TaskNode, parse_task_tree, walk_order

NESTED = {
    "id": "root",
    "description": "Port it.",
    "children": [
        {"id": "1", "description": "Source", "children": [{"id": "1.1", "description": "in a.cbl"}]},
        {"id": "2", "description": "Keep the output."},
    ],
}
FLAT = [
    {"id": "2", "description": "Keep the output.", "parent": "root"},
    {"id": "root", "description": "Port it.", "parent": None},
    {"id": "1.1", "description": "in a.cbl", "parent": "1"},
    {"id": "1", "description": "Source", "parent": "root"},
]


def test_a_tree_is_walked_from_the_root_over_its_leaves_depth_first() -> None:
    assert [node.id for node in walk_order(parse_task_tree(NESTED, "t"))] == ["root", "1.1", "2"]
    assert [node.id for node in walk_order(parse_task_tree(FLAT, "t"))] == ["root", "2", "1.1"]
    assert [node.id for node in walk_order(TaskNode(id="root", description="All."))] == ["root"]


def row(name: str, parent: str = "", **more: object) -> dict[str, object]:
    return {"id": name, "description": name, "parent": parent, **more}


@rows(
    "tree, message",
    [
        (
            {"id": "r", "description": "r", "done": 1},
            "t: unknown key 'done'. Remove or correct it (known: children, description, id, status).",
        ),
        ({"id": "r", "children": []}, "t: 'description' is missing. Add it."),
        ({**NESTED, "id": "2"}, "t, at node '2': another node has the same id."),
        ([row("a", "b"), row("b", "a"), row("r")], "t, at node 'a': the parents form a circle: a → b → a."),
        ([row("a", "a"), row("r")], "t, at node 'a': the parents form a circle: a → a."),
        ([row("r"), row("a", "x")], "t, at node 'a': its parent 'x' was not found."),
        (
            [row("r"), row("s")],
            "t: a tree must have exactly one node without a parent, but this one has r, s.",
        ),
        ([row("r"), row("r")], "t, at node 'r': another node has the same id."),
        ([], "t: a tree must have exactly one node without a parent, but this one has none."),
        ([row("r"), "x"], "t, at 1: it is not an object with an id."),
        ("x", "t: expected a table with children, description, id, status."),
        (
            [row("r"), *(row(f"n{i}", "r") for i in range(500))],
            "t: a tree has at most 500 nodes and 20 levels.",
        ),
        (
            [row("0"), *(row(str(i), str(i - 1)) for i in range(1, 30))],
            "t: a tree has at most 500 nodes and 20 levels.",
        ),
    ],
)
def test_a_bad_tree_names_the_node_and_the_reason(tree: object, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_task_tree(tree, "t")
    assert caught.value.message == message


async def test_a_model_parses_an_instruction_and_a_bad_answer_is_sent_back() -> None:
    template = load_orchestrated().orchestrator.tree_template
    model = caller(
        "no tree",
        '[{"id": "root", "description": "r", "parent": "x"}]',
        'Here:\n```json\n{"id": "root", "description": "Port it."}\n```\nDone.',
    )
    assert await ask_for_tree(model, "Port it.", template) == TaskNode(id="root", description="Port it.")
    asked = [request.messages[0].content[0].text for request in model.requests]
    assert "could not be used" not in asked[0] and "no JSON object" in asked[1]
    assert "its parent 'x' was not found" in asked[2] and asked[2].endswith("Port it.")
    with pytest.raises(ModelError, match="no valid task tree in 3 answers: the answer is not valid JSON"):
        await ask_for_tree(caller("{", "{", "{"), "Port it.", template)
