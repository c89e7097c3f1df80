"""Argument schemas that model providers refuse are repaired, and whatever fitted before still fits."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui_agent.engine.tools.arguments import check_json_arguments
from tui_agent.mcp.content.schema_repair import MAX_BYTES, repair_schema
from tui_agent.ports.tool import JsonArguments

ANY = {"type": "object", "properties": {}}
TEXT = {"type": "string"}


def with_field(schema: object) -> dict[str, object]:
    return {"type": "object", "properties": {"x": schema}}


@pytest.mark.parametrize(
    ("raw", "repaired"),
    [
        (None, ANY),
        ([], ANY),
        ({}, ANY),
        ({"type": "string"}, ANY),
        ({"type": "object", "properties": {"a": TEXT}, "required": ["a", "b", 7]}, {"type": "object", "properties": {"a": TEXT}, "required": ["a"]}),
        (
            {"anyOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"b": TEXT, "a": TEXT}, "required": ["a", "b"]}]},
            {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a"]},
        ),
        ({"allOf": [{"properties": {"a": TEXT}, "required": ["a"]}, {"properties": {"b": TEXT}}]}, {"type": "object", "properties": {"a": TEXT, "b": TEXT}, "required": ["a"]}),
        ({"$ref": "#/$defs/A", "$defs": {"A": with_field(TEXT)}}, with_field(TEXT)),
        ({**with_field({"$ref": "#/$defs/A"}), "$defs": {"A": with_field({"$ref": "#/$defs/A"})}}, with_field(with_field({}))),
        (with_field({"$ref": "https://example.org/schema.json"}), with_field({})),
        (with_field({"$ref": "#/nowhere"}), with_field({})),
        (with_field(True), with_field({})),
        (with_field({"type": "string", "format": "ipv7", "pattern": "(a+)+$", "$comment": "x"}), with_field(TEXT)),
        (with_field({"type": ["string", "null"]}), with_field({"anyOf": [TEXT, {"type": "null"}]})),
        (with_field({"type": "array"}), with_field({"type": "array", "items": {}})),
        (with_field({"type": "array", "prefixItems": [TEXT, {"type": "integer"}], "items": False}), with_field({"type": "array", "items": {"anyOf": [TEXT, {"type": "integer"}]}})),
        (with_field({"type": "array", "items": [TEXT]}), with_field({"type": "array", "items": {}})),
        (with_field({"const": 1}), with_field({"enum": [1]})),
        (with_field({"type": "object", "additionalProperties": TEXT}), with_field({"type": "object", "additionalProperties": TEXT})),
        (with_field({"description": "\x1b[31mred", **TEXT}), with_field({"description": "red", **TEXT})),
        (with_field({"enum": ["x" * MAX_BYTES]}), ANY),
    ],
)  # fmt: skip
def test_repairs(raw: object, repaired: dict[str, object]) -> None:
    assert repair_schema(raw).schema == repaired


def test_a_deep_schema_ends() -> None:
    deep: dict[str, Any] = {}
    for _ in range(500):
        deep = with_field(deep)
    assert json.dumps(repair_schema(deep).schema).count("properties") == 11


def test_a_long_name_is_replaced_and_its_original_is_known() -> None:
    long = "a" * 70
    found = repair_schema({"properties": {long: TEXT, "ok": TEXT}, "required": [long]})
    (new,) = found.original_names
    assert len(new) == 59 and found.original_names == {new: long}
    assert found.schema == {"type": "object", "properties": {new: TEXT, "ok": TEXT}, "required": [new]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "type",
                    "properties",
                    "required",
                    "items",
                    "anyOf",
                    "allOf",
                    "$ref",
                    "enum",
                    "format",
                    "prefixItems",
                    "a",
                    "b",
                    "additionalProperties",
                ]
            ),
            inner | st.sampled_from(["#", "#/properties/a", "object", "array", ["a"], [["a"], {}]]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@pytest.mark.slow
@given(JSON)
def test_any_schema_becomes_one_of_an_object_that_validates(raw: object) -> None:
    schema = repair_schema(raw).schema
    assert schema["type"] == "object" and "$ref" not in json.dumps(schema)
    check_json_arguments("t", schema, {"a": 1})


def test_arguments_that_do_not_fit_get_a_message_for_the_model() -> None:
    schema = repair_schema(
        {"properties": {"count": {"type": "integer", "maximum": 3}, "tags": {"type": "array", "items": TEXT}}, "required": ["count"]}
    ).schema  # fmt: skip
    assert check_json_arguments("t", schema, {"count": "2", "tags": None, "more": 1}) == JsonArguments(
        values={"count": 2, "more": 1}
    )
    wrong = check_json_arguments("t", schema, {"count": 9, "tags": ["a", 1]})
    assert not isinstance(wrong, JsonArguments)
    assert wrong.message == (
        "t: the arguments are not valid. count: must match maximum 3; got 9. tags[1]: must match type 'string'; got 1."
    )
    missing = check_json_arguments("t", schema, {})
    assert not isinstance(missing, JsonArguments)
    assert missing.message == "t: the arguments are not valid. 'count' is a required property."
