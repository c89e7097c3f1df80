"""Task trees: a task from its general aim (root) to its details (leaves), and the order in which a user learns them.

Invariant: a tree has one root, ids are unique, and every node can be reached from the root.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from tui_agent.config.settings.validation_errors import validate
from tui_agent.config.small_files import read_small
from tui_agent.errors import ConfigError
from tui_agent.json_text import parse_json
from tui_agent.simulation.mode_settings import FORMAT_HINT

MAX_NODES = 500
MAX_DEPTH = 20
NodeStatus: TypeAlias = Literal["pending", "completed"]


class TaskNode(BaseModel):
    """A part of a task. A leaf (a node without children) is small enough to ask for in one request."""

    model_config = ConfigDict(extra="forbid")

    id: str = Field(min_length=1, max_length=100)
    description: str = Field(min_length=1)
    status: NodeStatus = "pending"
    children: list["TaskNode"] = Field(default_factory=list)

    def nodes(self) -> Iterator["TaskNode"]:
        """Yield this node and all nodes below it, depth first."""
        yield self
        for child in self.children:
            yield from child.nodes()

    def leaves(self) -> Iterator["TaskNode"]:
        """Yield the leaves, depth first."""
        return (node for node in self.nodes() if not node.children)

    def complete_parents(self) -> None:
        """Mark each node as completed if all of its children are completed."""
        for child in self.children:
            child.complete_parents()
        if self.children and all(child.status == "completed" for child in self.children):
            self.status = "completed"


def walk_order(root: TaskNode) -> list[TaskNode]:
    """Return the order in which the user learns the task: first the root (the aim), then the leaves (details), depth
    first."""
    return [root, *(leaf for leaf in root.leaves() if leaf is not root)]


def parse_task_tree(tree: object, source: str) -> TaskNode:
    """Parse a task tree from nested data (`children`), or from a flat list in which `parent` is an id.

    Raise `ConfigError` if the tree is not valid.
    """
    if isinstance(tree, list):
        tree = _nest(tree, source)
    _check_size(tree, source)
    root = validate(tree, TaskNode, source, FORMAT_HINT)
    seen: set[str] = set()
    for node in root.nodes():
        if node.id in seen:
            raise _node_error(source, node.id, "another node has the same id")
        seen.add(node.id)
    return root


def read_task_tree(path: Path) -> TaskNode:
    """Return the tree in a JSON file. Raise `ConfigError` if the file cannot be read or the tree is not valid."""
    text = read_small(path)
    if text is None:
        raise ConfigError(f"{path} was not found.", hint=FORMAT_HINT)
    try:
        tree = parse_json(text)
    except ValueError as error:
        raise ConfigError(f"{path} is not valid JSON: {error}.", hint=FORMAT_HINT) from error
    return parse_task_tree(tree, str(path))


def _nest(rows: Sequence[object], source: str) -> Mapping[str, Any]:
    nodes: dict[str, dict[str, Any]] = {}
    parents: dict[str, str] = {}
    for index, row in enumerate(rows):
        if not isinstance(row, dict) or not isinstance(row.get("id"), str):
            raise ConfigError(f"{source}, at {index}: it is not an object with an id.", hint=FORMAT_HINT)
        if row["id"] in nodes:
            raise _node_error(source, row["id"], "another node has the same id")
        children = row.get("children", [])
        nodes[row["id"]] = {**row, "children": list(children) if isinstance(children, list) else children}
        parents[row["id"]] = str(nodes[row["id"]].pop("parent", None) or "")
    roots = [name for name, parent in parents.items() if not parent]
    for name, parent in parents.items():
        if parent and parent not in nodes:
            raise _node_error(source, name, f"its parent {parent!r} was not found")
        if parent:
            nodes[parent]["children"].append(nodes[name])
    _require_no_circle(parents, source)
    if len(roots) != 1:
        names = ", ".join(roots) or "none"
        raise ConfigError(
            f"{source}: a tree must have exactly one node without a parent, but this one has {names}.",
            hint=FORMAT_HINT,
        )
    return nodes[roots[0]]


def _require_no_circle(parents: Mapping[str, str], source: str) -> None:
    checked: set[str] = set()
    for name in parents:
        path: dict[str, None] = {}
        while name and name not in checked:
            if name in path:
                circle = [*list(path)[list(path).index(name) :], name]
                raise _node_error(source, name, f"the parents form a circle: {' → '.join(circle)}")
            path[name] = None
            name = parents[name]
        checked |= path.keys()


def _check_size(tree: object, source: str) -> None:
    """Raise `ConfigError` if a tree is too large or too deep for recursive functions."""
    level, depth, count = [tree], 0, 0
    while level:
        depth, count = depth + 1, count + len(level)
        if depth > MAX_DEPTH or count > MAX_NODES:
            raise ConfigError(
                f"{source}: a tree has at most {MAX_NODES} nodes and {MAX_DEPTH} levels.", hint=FORMAT_HINT
            )
        families = (node.get("children") for node in level if isinstance(node, dict))
        level = [child for children in families if isinstance(children, list) for child in children]


def _node_error(source: str, node: str, reason: str) -> ConfigError:
    return ConfigError(f"{source}, at node {node!r}: {reason}.", hint=FORMAT_HINT)
