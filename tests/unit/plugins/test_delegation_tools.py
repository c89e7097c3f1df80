import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stubs.tool_context import PLUGINS, Bench, tools_of
from tui_agent.plugin_host.plugin_imports import import_from
from tui_agent.ports.delegate import DelegateReport, DelegateTask
from tui_agent.protocol.ids import AgentId

TOOLS = tools_of("subagent")
EVIDENCE = import_from("subagent", PLUGINS / "subagent").investigator_answer.read_findings


def read(text: str, **more: Any) -> dict[str, Any]:
    found = EVIDENCE(text, **more).as_json()
    assert isinstance(found, dict)
    return found


def test_the_arguments_default_to_the_file_tools_and_4096_tokens() -> None:
    schema = TOOLS["spawn_subtask"].spec.args.model_json_schema()["properties"]
    assert schema["max_tokens"]["default"] == 4_096 and schema["allowed_tools"]["default"] is None
    assert "omitted: the file tools" in str(schema["allowed_tools"])


def test_an_answer_in_json_is_read_wherever_it_stands() -> None:
    plain = {
        "summary": "In the parser.",
        "evidence": [
            {"path": "a/b.py", "lines": "10-24", "what": "parses"},
            {"file": "c.py", "start_line": 3, "end_line": 9},
            {"path": "d.py", "lines": [5, 6]},
            {"path": "e.py:7"},
            "f.py:1-2",
            {"nothing": 1},
        ],
        "confidence": "High",
        "open_questions": ["who calls it?"],
    }
    for text in (
        json.dumps(plain),
        f"Here it is:\n```json\n{json.dumps(plain, indent=2)}\n```\nThat is all.",
        f"I found this. {json.dumps(plain)} Done.",
    ):
        found = read(text)
        places = [(one["path"], one["lines"]) for one in found["evidence"]]
        assert places == [
            ("a/b.py", "10-24"),
            ("c.py", "3-9"),
            ("d.py", "5-6"),
            ("e.py", "7"),
            ("f.py", "1-2"),
        ]
        assert (found["confidence"], found["open_questions"]) == ("high", ["who calls it?"])
        assert found["paths"] == ["a/b.py", "c.py", "d.py", "e.py", "f.py"]


def test_places_are_taken_out_of_plain_words() -> None:
    found = read(
        "It starts in src/app.py:10-24 and README.md:3.\nConfidence: medium\n\n"
        "Open questions:\n- who calls it?\n- why at 10:30?\n"
    )
    assert [(one["path"], one["lines"]) for one in found["evidence"]] == [
        ("src/app.py", "10-24"),
        ("README.md", "3"),
    ]
    assert (found["confidence"], len(found["open_questions"])) == ("medium", 2)


@pytest.mark.parametrize("text", ["I do not know.", "{broken", '{"other": 1}', "[1, 2]", ""])
def test_an_answer_that_cannot_be_read_is_the_summary_with_low_confidence(text: str) -> None:
    found = read(text)
    assert (found["summary"], found["evidence"], found["confidence"]) == (text.strip(), [], "low")


def test_a_lines_number_that_nobody_can_count_to_is_read_too() -> None:
    endless = "9" * 5_000
    for text in (
        f"It is in a.py:{endless}.",
        json.dumps({"summary": "x", "evidence": [{"path": "a.py", "lines": endless}]}),
    ):
        [place] = EVIDENCE(text).evidence
        assert place.last_line == 999_999_999


def test_one_that_did_not_end_well_is_never_sure() -> None:
    assert read('{"summary": "x", "confidence": "high"}', trusted=False)["confidence"] == "low"


@given(st.text())
def test_any_answer_is_read(text: str) -> None:
    assert read(text)["confidence"] in ("high", "medium", "low")


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(["summary", "evidence", "path", "lines", "confidence", "open_questions"]),
                inner,
            )
        ),
    )
)
def test_any_json_is_read(plain: object) -> None:
    json.dumps(read(json.dumps(plain)))


class FakeDelegate:
    """Answers every errand with one report."""

    def __init__(self, said: dict[str, Any]) -> None:
        self.said = said

    async def run(self, errand: DelegateTask) -> DelegateReport:
        return DelegateReport(AgentId("agent_1"), True, json.dumps(self.said), "completed")


async def test_places_that_an_investigator_made_up_are_told_apart(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TOOLS)
    bench.write("src/real.py", "x = 1\n")
    said = {
        "summary": "It is there.",
        "evidence": [{"path": "src/real.py"}, {"path": "src/made_up.py", "lines": "3"}, {"path": "src"}],
        "confidence": "high",
    }

    async def ran() -> dict[str, Any]:
        tool = TOOLS["delegate_readonly"]
        context = replace(bench.context(), delegate=FakeDelegate(said))
        result = await tool.run(tool.spec.args(task="where?"), context)
        found = json.loads(result.content[0].text)
        assert isinstance(found, dict)
        return found

    found = await ran()
    assert (found["paths"], found["not_there"]) == (["src/real.py", "src"], ["src/made_up.py"])
    assert found["confidence"] == "high"
    said["paths"] = ["ghost.py", "src/real.py"]
    assert (await ran())["not_there"] == ["src/made_up.py", "ghost.py"]
    said["paths"] = []
    said["evidence"] = [{"path": "src/made_up.py"}]
    found = await ran()
    assert (found["paths"], found["not_there"], found["confidence"]) == ([], ["src/made_up.py"], "low")


async def test_lines_behind_a_files_end_are_marked_as_not_found(tmp_path: Path) -> None:
    bench = Bench(tmp_path, TOOLS)
    bench.write("short.py", "a = 1\nb = 2\nc = 3\n")
    said: dict[str, Any] = {
        "summary": "There.",
        "evidence": [{"path": "short.py", "lines": "2-4"}, {"path": "short.py", "lines": "3-40"}],
        "confidence": "high",
    }
    for confidence, places in (("high", said["evidence"]), ("low", said["evidence"][1:])):
        tool = TOOLS["delegate_readonly"]
        context = replace(bench.context(), delegate=FakeDelegate(said | {"evidence": places}))
        result = await tool.run(tool.spec.args(task="where?"), context)
        found = json.loads(result.content[0].text)  # type: ignore[union-attr, arg-type]
        assert [one.get("not_found", "") for one in found["evidence"]][-2:] == [
            *([""] if len(places) == 2 else []),
            "not found: the file has 3 lines",
        ]
        assert found["confidence"] == confidence


async def test_places_outside_the_workspace_and_lines_before_the_first_are_no_evidence(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path, TOOLS)
    bench.write("a.py", "a = 1\n")
    places = [{"path": "/etc/passwd", "lines": "1"}, {"path": "../x.py"}, {"path": "a.py", "lines": "0-3"}]
    said = {"summary": "There.", "evidence": places, "confidence": "high"}
    tool = TOOLS["delegate_readonly"]
    context = replace(bench.context(), delegate=FakeDelegate(said))
    result = await tool.run(tool.spec.args(task="where?"), context)
    found = json.loads(result.content[0].text)  # type: ignore[union-attr, arg-type]
    assert found["not_there"] == ["/etc/passwd", "../x.py"]
    assert found["evidence"] == [{"path": "a.py", "lines": "", "what": ""}]
