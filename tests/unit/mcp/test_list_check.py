"""Invalid items in lists of MCP servers."""

import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from tui_agent.mcp.transport import ListCheck

VALID = {"name": "good", "inputSchema": {"type": "object"}}


def checked(result: dict[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return what is left of an answer, and the sentences about what was removed."""
    check = ListCheck()
    response = JSONRPCResponse(jsonrpc="2.0", id=1, result=result)
    message = SessionMessage(response)
    assert check.check(message) is message
    return response.result, check.left_out("tools", "prompts", "resources", "resourceTemplates")


@pytest.mark.parametrize(
    "result",
    [
        {"tools": [VALID]},
        {"tools": "none"},
        {"prompts": [{"name": "day"}], "nextCursor": "2"},
        {"content": [], "structuredContent": {"tools": [7]}},
    ],
)
def test_other_answers_pass_unchanged(result: dict[str, object]) -> None:
    assert checked(dict(result)) == (result, ())


@pytest.mark.parametrize(
    ("item", "fault"),
    [
        (7, "A tool without a name is left out, because its description is not valid: Input should"),
        (
            {"name": "bad"},
            "The tool bad is left out, because its description is not valid: inputSchema: Field",
        ),
        ({**VALID, "name": "b\x1b[31mad", "description": 7}, "The tool bad is left out"),
        ({**VALID, "name": 7}, "A tool without a name is left out"),
        ({**VALID, "annotations": {"readOnlyHint": "perhaps"}}, "The tool good is left out"),
    ],
)
def test_an_invalid_tool_is_removed_and_named(item: object, fault: str) -> None:
    result, left_out = checked({"tools": [item, VALID]})
    assert result == {"tools": [VALID]}
    assert len(left_out) == 1 and left_out[0].startswith(fault)


@pytest.mark.parametrize("key", ["prompts", "resources", "resourceTemplates"])
def test_items_of_other_lists_are_removed_too(key: str) -> None:
    valid = {"name": "n", "uri": "note:1", "uriTemplate": "note:{n}"}
    result, left_out = checked({key: [{"name": 7}, valid]})
    assert result == {key: [valid]} and len(left_out) == 1


def test_of_many_invalid_items_some_are_named() -> None:
    result, left_out = checked({"tools": [{"name": str(number)} for number in range(500)]})
    assert result == {"tools": []}
    assert len(left_out) == 11 and left_out[-1] == "490 more items are left out."
