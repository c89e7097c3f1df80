"""Tools by name: what a model is offered, and what it is told when a call does not fit."""

from typing import Any, ClassVar, Literal

import pytest
from pydantic import BaseModel, Field

from tui_agent.engine.tools.arguments import InvalidArguments
from tui_agent.engine.tools.registry import ToolRegistry
from tui_agent.engine.tools.schema import json_schema
from tui_agent.errors import PluginError
from tui_agent.models.tool_call_repair import canonical_name, tool_name
from tui_agent.ports.environment import Environment
from tui_agent.ports.tool import Preview, ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.effects import Effect, ReadEffect
from tui_agent.protocol.stored_text import JsonMap


class Item(BaseModel):
    """One thing to do."""

    text: str
    status: Literal["pending", "done"] = "pending"


class Arguments(BaseModel):
    path: str = Field(description="The file")
    start: int | None = None
    whole: bool = False
    ratio: float = 1.0
    items: list[Item] = []
    extra: dict[str, str] = {}


class ReadTool:
    spec: ClassVar[ToolSpec] = ToolSpec("read_file", "Reads a file.", Arguments, "read")

    def target(self, args: Arguments) -> str:
        return args.path

    def effects(self, args: Arguments) -> tuple[Effect, ...]:
        return (ReadEffect(path=args.path),)

    async def preview(self, args: Arguments, env: Environment) -> Preview:
        return Preview(())

    async def run(self, args: Arguments, ctx: ToolContext) -> ToolResult:
        return ToolResult(True, ())


class GrepTool(ReadTool):
    spec: ClassVar[ToolSpec] = ToolSpec("grep", "Searches.", Arguments, "search")


def registry() -> ToolRegistry:
    tools = ToolRegistry()
    tools.add("files", ReadTool())
    tools.add("search", GrepTool())
    return tools


def parsed(arguments: JsonMap) -> Arguments:
    result = registry().parse("read_file", arguments)
    assert isinstance(result, Arguments), result
    return result


def refused(arguments: JsonMap, tool: str = "read_file") -> str:
    result = registry().parse(tool, arguments)
    assert isinstance(result, InvalidArguments)
    return result.message


def keys_of(node: object) -> set[str]:
    if isinstance(node, list):
        return set().union(*(keys_of(item) for item in node))
    if isinstance(node, dict):
        return set(node) | set().union(*(keys_of(value) for value in node.values()))
    return set()


def test_schema_is_whole_without_references_or_titles() -> None:
    schema = json_schema(Arguments)
    assert schema["type"] == "object"
    assert schema["additionalProperties"] is False
    assert schema["required"] == ["path"]
    assert not keys_of(schema) & {"$ref", "$defs", "title", "anyOf"}
    properties = schema["properties"]
    assert isinstance(properties, dict)
    assert properties["start"] == {"type": "integer"}
    assert properties["items"] == {
        "type": "array",
        "default": [],
        "items": {
            "type": "object",
            "additionalProperties": False,
            "required": ["text"],
            "properties": {
                "text": {"type": "string"},
                "status": {"type": "string", "enum": ["pending", "done"], "default": "pending"},
            },
        },
    }


def test_a_field_named_title_stays_in_the_schema() -> None:
    class Titled(BaseModel):
        title: str

    assert json_schema(Titled)["properties"] == {"title": {"type": "string"}}


def test_a_model_that_contains_itself_is_cut() -> None:
    class Node(BaseModel):
        children: "list[Node]" = []

    Node.model_rebuild(_types_namespace={"Node": Node})
    assert "$ref" not in keys_of(json_schema(Node))


def test_offers_keep_the_order_of_registration() -> None:
    tools = registry()
    assert tools.names() == ("read_file", "grep")
    assert [schema.name for schema in tools.schemas()] == ["read_file", "grep"]
    assert [schema.name for schema in tools.schemas(["grep", "nothing"])] == ["grep"]
    assert tools.owner("grep") == "search"


def test_the_model_is_sent_neither_bounds_nor_defaults_and_calls_are_still_checked_against_them() -> None:
    class Bounded(BaseModel):
        default: int = Field(3, ge=1, le=9, description="a field of that name stays")
        words: list[Item] = Field(default=[], max_length=2)

    class BoundedTool(ReadTool):
        spec: ClassVar[ToolSpec] = ToolSpec("bounded", "Counts.", Bounded, "count")

    tools = ToolRegistry()
    tools.add("test", BoundedTool())
    [schema] = tools.schemas()
    properties = {"text": {"type": "string"}, "status": {"type": "string", "enum": ["pending", "done"]}}
    assert schema.parameters == {
        "type": "object",
        "properties": {
            "default": {"type": "integer", "description": "a field of that name stays"},
            "words": {
                "type": "array",
                "items": {"type": "object", "properties": properties, "required": ["text"]},
            },
        },
    }
    wrong = tools.parse("bounded", {"default": 12})
    assert isinstance(wrong, InvalidArguments) and "less than or equal to 9; got 12" in wrong.message
    assert isinstance(tools.parse("bounded", {"words": [{"text": "a", "more": 1}] * 3}), InvalidArguments)


def test_an_argument_marked_as_unsent_is_not_offered_and_a_call_may_pass_it() -> None:
    class Mapped(BaseModel):
        query: str = ""
        refresh: bool = Field(default=False, json_schema_extra={"unsent": True})

    class MapTool(ReadTool):
        spec: ClassVar[ToolSpec] = ToolSpec("mapped", "Maps.", Mapped, "map")

    tools = ToolRegistry()
    tools.add("test", MapTool())
    [schema] = tools.schemas()
    assert schema.parameters == {"type": "object", "properties": {"query": {"type": "string"}}}
    assert tools.parse("mapped", {"refresh": True}) == Mapped(refresh=True)


def test_only_tools_that_can_be_used_are_offered() -> None:
    class PlanTool(GrepTool):
        spec: ClassVar[ToolSpec] = ToolSpec("plan", "Plans.", Arguments, "plan", policy="plan")

    class AskTool(GrepTool):
        spec: ClassVar[ToolSpec] = ToolSpec(
            "ask", "Asks.", Arguments, "ask", needs=frozenset({"ask", "state"})
        )

    tools = registry()
    tools.add("test", PlanTool())
    tools.add("test", AskTool())

    def offered(**limits: Any) -> list[str]:
        return [schema.name for schema in tools.schemas(**limits)]

    assert offered() == ["read_file", "grep", "ask"]
    assert offered(policy="plan", missing={"notes"}) == ["read_file", "grep", "plan", "ask"]
    assert offered(policy="bypass", missing={"ask"}) == ["read_file", "grep"]
    assert offered(names=["plan", "ask"], policy="plan", missing={"ask"}) == ["plan"]


def test_a_name_is_registered_once() -> None:
    tools = registry()
    with pytest.raises(PluginError, match=r"read_file of other is already registered by files"):
        tools.add("other", ReadTool())


def test_shapes_with_one_reading_are_put_right() -> None:
    args = parsed(
        {
            "path": "123",
            "start": "7",
            "whole": "True",
            "ratio": "0.5",
            "items": '[{"text": "a"}]',
            "extra": ' {"k": "v"} ',
        }
    )
    assert args == Arguments(
        path="123", start=7, whole=True, ratio=0.5, items=[Item(text="a")], extra={"k": "v"}
    )


def test_a_text_that_looks_like_json_stays_text() -> None:
    assert parsed({"path": '["a"]'}).path == '["a"]'


def test_null_for_an_optional_field_means_left_out() -> None:
    assert parsed({"path": "a", "start": None, "whole": None}) == Arguments(path="a")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({}, ["path", "required", "text"]),
        ({"path": 3}, ["path", "string", "3"]),
        ({"path": "a", "start": "soon"}, ["start", "integer", "'soon'"]),
        ({"path": "a", "items": "[{"}, ["items", "list"]),
        ({"path": "a", "items": [{"text": "x", "status": "later"}]}, ["items[0].status", "pending"]),
        ({"path": "a", "items": ["x"]}, ["items[0]: Input should be an object; got 'x'."]),
        ({"path": "a", "pth": "b"}, ["'pth'", "did you mean 'path'"]),
    ],
)
def test_what_does_not_fit_is_named_with_what_was_expected(arguments: JsonMap, words: list[str]) -> None:
    message = refused(arguments)
    assert message.startswith("read_file")
    assert all(word in message for word in words), message


def test_a_tools_schema_is_made_when_it_is_registered_and_for_no_call() -> None:
    made = []

    class Counted(Arguments):
        @classmethod
        def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
            made.append(cls)
            return super().model_json_schema(*args, **kwargs)

    class CountedTool(ReadTool):
        spec: ClassVar[ToolSpec] = ToolSpec("read_file", "Reads a file.", Counted, "read")

    tools = ToolRegistry()
    tools.add("files", CountedTool())
    assert len(made) == 1
    for _ in range(3):
        assert isinstance(tools.parse("read_file", {"path": "a.txt"}), Counted)
    assert len(made) == 1


def test_an_unknown_tool_is_answered_with_near_names() -> None:
    assert "read_file" in refused({}, "read_fil")
    assert "Did you mean grep" in refused({}, "search_code")
    assert "The tools are: read_file, grep" in refused({}, "zzzzzz")


def test_of_many_tools_only_some_are_named_to_a_model() -> None:
    tools = ToolRegistry()
    for number in range(60):
        spec = ToolSpec(f"tool_{number}", "Reads.", Arguments, "read")
        tools.add(f"server_{number}", type("Numbered", (ReadTool,), {"spec": spec})())
    message = tools.unknown_tool_message("zzzzzz").message
    assert message.endswith("tool_11 and 48 more.") and len(message) < 200


def test_no_tool_is_suggested_that_the_request_did_not_offer() -> None:
    class AskingTool(ReadTool):
        spec: ClassVar[ToolSpec] = ToolSpec("ask_user", "Asks.", Arguments, "ask", needs=frozenset({"ask"}))

    tools = ToolRegistry()
    tools.add("files", ReadTool())
    tools.add("ask", AskingTool())
    for name, words in ("ask_usr", "Did you mean ask_user"), ("zzzzzz", "read_file, ask_user"):
        assert words in tools.unknown_tool_message(name).message
        assert "ask_user" not in tools.unknown_tool_message(name, ["read_file"]).message


@pytest.mark.parametrize(
    ("foreign", "ours"),
    [
        ("search_code", "grep"),
        ("execute_shell", "run_command"),
        ("Bash", "run_command"),
        ("shell", "run_command"),
        ("read", "read_file"),
        ("write", "write_file"),
        ("str_replace", "edit_file"),
        ("edit", "edit_file"),
        ("ls", "list_directory"),
        ("functions.read", "read_file"),
        ("grep", "grep"),
        ("my_tool", "my_tool"),
    ],
)
def test_foreign_names_become_ours(foreign: str, ours: str) -> None:
    assert canonical_name(foreign) == ours
    assert canonical_name(canonical_name(foreign)) == ours


def test_a_registered_name_is_never_rewritten() -> None:
    assert tool_name("search", ("search",)) == "search"


class FileArguments(BaseModel):
    path: str
    old_text: str = ""
    new_text: str = ""
    content: str = ""
    command: str = ""
    pattern: str = ""
    cwd: str = ""
    glob: str = ""


class FileTool(ReadTool):
    spec: ClassVar[ToolSpec] = ToolSpec("edit_file", "Edits.", FileArguments, "edit")


@pytest.mark.parametrize(
    ("foreign", "own"),
    [
        ("file_path", "path"),
        ("filePath", "path"),
        ("absolute_path", "path"),
        ("target_file", "path"),
        ("old_str", "old_text"),
        ("old_string", "old_text"),
        ("newString", "new_text"),
        ("cmd", "command"),
        ("query", "pattern"),
        ("regex", "pattern"),
        ("file_text", "content"),
        ("contents", "content"),
        ("include", "glob"),
        ("workdir", "cwd"),
    ],
)
def test_other_programs_names_of_arguments_are_understood(foreign: str, own: str) -> None:
    tools = ToolRegistry()
    tools.add("files", FileTool())
    given: JsonMap = {"path": "x", foreign: "x"}
    assert tools.parse("edit_file", given) == tools.parse("edit_file", {"path": "x", own: "x"})


def test_a_remark_beside_a_call_is_left_out() -> None:
    assert parsed({"path": "a", "explanation": "to see it"}) == Arguments(path="a")


def test_two_names_for_one_argument_that_say_different_things_are_refused() -> None:
    assert "'file_path'" in refused({"path": "a", "file_path": "b"})


def test_an_argument_that_the_tool_has_itself_is_never_taken_for_another() -> None:
    class Both(BaseModel):
        path: str = ""
        file: str = ""

    class BothTool(ReadTool):
        spec: ClassVar[ToolSpec] = ToolSpec("both", "Has both.", Both, "read")

    tools = ToolRegistry()
    tools.add("test", BothTool())
    assert tools.parse("both", {"file": "a"}) == Both(file="a")
