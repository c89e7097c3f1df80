"""AGENTS.md files: which are read, when, what the model is sent of them, and what is left out with a note."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.engine.harness import call, running, say
from tests.engine.talks import Talks, judged, rules, use
from tests.engine.talks import tools as all_tools
from tests.stubs.tool_context import tools_of
from tui_agent.context.instructions import (
    MAX_FILE_CHARS,
    MIN_CHARS,
    InstructionFiles,
    folders_of,
    insert_files,
)
from tui_agent.context.request_assembly import SEPARATOR
from tui_agent.engine.middleware.instructions import Instructions
from tui_agent.engine.recorder import Recorder
from tui_agent.engine.tools.registry import ToolRegistry
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.middleware import Middleware
from tui_agent.ports.tool import Tool
from tui_agent.protocol.commands import Compact, RestoreContext, SubmitPrompt
from tui_agent.protocol.events.context import ContextCompacted, ContextPacked
from tui_agent.protocol.events.instructions import InstructionsLoaded
from tui_agent.protocol.messages import Message, ToolMessage, UserMessage
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.stored_text import LongText
from tui_agent.store.blobs import BlobStore
from tui_agent.wiring.context import paths_of_call
from tui_agent.workspace.local.environment import LocalEnvironment


def _reading(
    tmp_path: Path, *, project: bool = True, tools: Sequence[Tool[Any]] = ()
) -> Callable[[Recorder], Middleware]:
    """The middleware over the bench's workspace, its user folder and its session's blobs."""
    files = InstructionFiles(LocalEnvironment(tmp_path / "workspace"), tmp_path / "config")

    def whole(text: LongText) -> str:
        return BlobStore(tmp_path / "sessions" / "ses_test" / "blobs").read_text(text)

    registry = ToolRegistry()
    for one in tools:
        registry.add("test", one)

    def made(recorder: Recorder) -> Middleware:
        return Instructions(
            files,
            recorder,
            whole,
            partial(paths_of_call, registry, RulePolicy()),
        )

    return made


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _text(message: Message) -> str:
    content = message.content if isinstance(message, UserMessage | ToolMessage) else ()
    return "\n".join(str(one.text) for one in content if isinstance(one, TextContent))


async def _notes(tmp_path: Path) -> tuple[list[str], tuple[str, ...]]:
    files = InstructionFiles(LocalEnvironment(tmp_path / "workspace"), tmp_path / "config")
    found = await files.load()
    return [one.path for one in found.files], found.notes


async def test_the_users_the_repositorys_and_the_workspaces_are_sent_in_this_order(
    tmp_path: Path, workspace: Path
) -> None:
    (tmp_path / ".git").mkdir()
    _put(tmp_path / "config" / "AGENTS.md", "Speak briefly.")
    _put(tmp_path / "AGENTS.md", "The top's rules.")
    _put(workspace / "AGENTS.md", "The workspace's rules.")
    async with running(tmp_path, [say("ok")], middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    system = bench.model.requests[0].system
    places = [system.index(text) for text in ("Speak briefly.", "The top's rules.", "The workspace's rules.")]
    assert places == sorted(places)
    state = bench.recorder.state
    assert [(one.path, one.scope) for one in state.instructions] == [
        (str(tmp_path / "config" / "AGENTS.md"), "user"),
        ("../AGENTS.md", "project"),
        ("AGENTS.md", "project"),
    ]
    packed = bench.of(ContextPacked)[0]
    assert {one.id for one in packed.fragments if one.section == "instructions"} >= {
        "AGENTS.md",
        "../AGENTS.md",
    }
    assert any(section.name == "instructions" and section.tokens for section in packed.sections)


@pytest.mark.parametrize(
    ("tool", "arguments"), [("read_file", {}), ("edit_file", {"old_text": "x = 1", "new_text": "x = 2"})]
)
async def test_one_below_the_workspace_joins_once_a_file_of_its_folder_is_read_or_changed(
    tmp_path: Path, workspace: Path, tool: str, arguments: dict[str, str]
) -> None:
    _put(workspace / "AGENTS.md", "Root rules.")
    _put(workspace / "src" / "AGENTS.md", "Rules of src.")
    _put(workspace / "src" / "deep" / "AGENTS.md", "Rules of deep.")
    _put(workspace / "src" / "deep" / "a.py", "x = 1\n")
    words = json.dumps({"path": "src/deep/a.py", **arguments})
    answers = [call((tool, words)), say("read"), say("again")]
    tools = list(tools_of("files").values())
    async with running(tmp_path, answers, tools, middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        bench.submit(SubmitPrompt(text="more"))
        await bench.until("turn.finished", 2)
    first, second, third = bench.model.requests
    assert "Root rules." in first.system and first.system == second.system == third.system
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages
    _, result, joined = second.messages[len(first.messages) :]
    assert isinstance(result, ToolMessage) and isinstance(joined, UserMessage)
    assert joined.origin == "instructions"
    assert _text(joined).index("Rules of src.") < _text(joined).index("Rules of deep.")
    assert (
        "For files below src/deep/ these instructions take precedence over those of all parent folders"
        in _text(joined)
    )
    loaded = bench.of(InstructionsLoaded)
    assert [event.trigger for event in loaded] == ["turn", "nested"]
    manifest = bench.of(ContextPacked)[1]
    assert {section.name for section in manifest.sections} >= {"instructions", "recent_observations"}
    assert loaded[1].order == ("AGENTS.md", "src/AGENTS.md", "src/deep/AGENTS.md")


def test_a_folder_that_is_named_itself_is_worked_in() -> None:
    assert folders_of(["src/deep/", "docs/a.md", "/etc/x", "../up/", "./"]) == ["docs", "src", "src/deep"]


@pytest.mark.slow_variants
@pytest.mark.parametrize(
    "command",
    [
        "cat src/deep/a.py",
        "sed -n 1,5p src/deep/a.py | head -2",
        "cd src && cat deep/a.py",
        "grep -rn x src/deep/",
        "cat src/deep/*.py",
        "echo 'y = 2' >> src/deep/a.py",
    ],
)
async def test_one_joins_behind_a_command_that_reads_or_writes_below_it_once(
    tmp_path: Path, workspace: Path, command: str
) -> None:
    _put(workspace / "src" / "AGENTS.md", "Rules of src.")
    _put(workspace / "src" / "deep" / "AGENTS.md", "Rules of deep.")
    _put(workspace / "src" / "deep" / "a.py", "x = 1\n")
    _put(workspace / "other" / "AGENTS.md", "Rules of other.")
    words = json.dumps({"command": command})
    answers = [call(("run_command", words)), call(("run_command", words)), say("done")]
    tools = list(tools_of("shell").values())
    async with running(tmp_path, answers, tools, middlewares=[_reading(tmp_path, tools=tools)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    last = [_text(one) for one in bench.model.requests[-1].messages]
    assert sum("Rules of deep." in one for one in last) == 1
    assert sum("Rules of src." in one for one in last) == 1
    assert "Rules of other." not in "".join(last)
    assert "Rules of deep." in _text(bench.model.requests[1].messages[-1])


async def test_no_instructions_join_behind_a_command_that_only_runs_or_names_something_else(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "src" / "AGENTS.md", "Rules of src.")
    _put(workspace / "src" / "a.py", "x = 1\n")
    words = json.dumps(
        {"command": f"echo src/a.py; cat {tmp_path}/none/../workspace.txt; cat ../src/a.py; ls"}
    )
    tools = list(tools_of("shell").values())
    async with running(
        tmp_path,
        [call(("run_command", words)), say("ok")],
        tools,
        middlewares=[_reading(tmp_path, tools=tools)],
    ) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        assert not bench.of(InstructionsLoaded)


async def test_one_that_is_changed_holds_from_the_next_turn_on_and_one_that_is_gone_no_more(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "AGENTS.md", "Old rules.")
    answers = [say("1"), say("2"), say("3")]
    async with running(tmp_path, answers, middlewares=[_reading(tmp_path)]) as bench:
        for count, change in enumerate((None, "New rules.", ""), start=1):
            if change:
                _put(workspace / "AGENTS.md", change)
            elif change == "":
                (workspace / "AGENTS.md").unlink()
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished", count)
    sent = [request.system for request in bench.model.requests]
    assert "Old rules." in sent[0]
    assert "New rules." in sent[1] and "Old rules." not in sent[1]
    assert "rules" not in sent[2]
    assert len(bench.of(InstructionsLoaded)) == 3


async def test_a_long_one_is_kept_as_a_blob_and_sent_whole_up_to_its_limit(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "AGENTS.md", "Keep this line.\n" * 1_500)
    async with running(tmp_path, [say("ok")], middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert bench.model.requests[0].system.count("Keep this line.") == 1_500
    _put(workspace / "AGENTS.md", "Keep this line.\n" * 4_000)
    found = await InstructionFiles(LocalEnvironment(workspace), tmp_path / "config").load()
    assert found.files[0].truncated and len(str(found.files[0].text)) <= MAX_FILE_CHARS
    assert "AGENTS.md is too long" in found.notes[0]
    async with running(tmp_path, [say("ok")], middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert "[AGENTS.md is too long to include in full. " in bench.model.requests[0].system


async def test_claude_md_stands_in_where_there_is_no_agents_md(tmp_path: Path, workspace: Path) -> None:
    _put(workspace / "CLAUDE.md", "Theirs.")
    assert (await _notes(tmp_path))[0] == ["CLAUDE.md"]
    _put(workspace / "AGENTS.md", "Ours.")
    assert (await _notes(tmp_path))[0] == ["AGENTS.md"]


async def test_together_they_are_bounded_and_the_nearest_stay(tmp_path: Path, workspace: Path) -> None:
    (tmp_path / ".git").mkdir()
    places: Sequence[Path] = (tmp_path / "config", tmp_path, workspace)
    for number, folder in enumerate(places):
        _put(folder / "AGENTS.md", f"{number}" * (MAX_FILE_CHARS - 1))
    files = InstructionFiles(LocalEnvironment(workspace), tmp_path / "config")
    assert len((await files.load()).files) == 3
    _put(workspace / "src" / "AGENTS.md", "new\n" * 1_000)
    known = (await files.load()).files
    below = await files.load_nested(["src"], known, MAX_FILE_CHARS)
    assert [len(str(one.text)) for one in below.files] == [MIN_CHARS] and below.files[0].truncated
    assert "src/AGENTS.md is cut: 2,000 of its 3,999 characters" in below.notes[0]
    held = insert_files(known, below.files)
    later = await files.load(held)
    assert (later.files, later.notes) == (tuple(held), ()), "what was told stays as it was told"


async def test_where_there_is_no_room_for_all_the_farthest_goes_first_and_the_users_own_last(
    tmp_path: Path,
) -> None:
    (tmp_path / ".git").mkdir()
    workspace = tmp_path / "a" / "b" / "workspace"
    folders = [tmp_path / "config", tmp_path, tmp_path / "a", tmp_path / "a" / "b", workspace]
    for number, folder in enumerate(folders):
        _put(folder / "AGENTS.md", f"{number}" * (MAX_FILE_CHARS - 1_001 * number))
    found = await InstructionFiles(LocalEnvironment(workspace), tmp_path / "config").load()
    kept = [(one.path, len(str(one.text))) for one in found.files]
    assert kept == [
        (str(tmp_path / "config" / "AGENTS.md"), MAX_FILE_CHARS),
        ("../../AGENTS.md", 7_007),
        ("../AGENTS.md", MAX_FILE_CHARS - 3_003),
        ("AGENTS.md", MAX_FILE_CHARS - 4_004),
    ]
    assert [note.split(" characters")[0] for note in found.notes] == [
        "../../AGENTS.md is cut: 7,007 of its 29,998",
        "../../../AGENTS.md is left out: all instructions together are too long.",
    ]


async def test_one_that_joins_late_stands_before_those_of_the_folders_below_its_own(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "src" / "deep" / "AGENTS.md", "Rules of deep.")
    for name in ("src/deep/a.py", "src/b.py", "docs/c.py"):
        _put(workspace / name, "x = 1\n")
    answers = [
        call(("read_file", '{"path": "src/deep/a.py"}')),
        say("read"),
        call(("read_file", '{"path": "docs/c.py"}'), ("read_file", '{"path": "src/b.py"}')),
        say("again"),
        say("more"),
    ]
    tools = list(tools_of("files").values())
    async with running(tmp_path, answers, tools, middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
        _put(workspace / "src" / "AGENTS.md", "Rules of src.")
        _put(workspace / "docs" / "AGENTS.md", "Rules of docs.")
        for count in (2, 3):
            bench.submit(SubmitPrompt(text="more"))
            await bench.until("turn.finished", count)
    order = [one.path for one in bench.recorder.state.instructions]
    assert order.index("src/AGENTS.md") < order.index("src/deep/AGENTS.md") and len(order) == 3
    *_, before, last = bench.model.requests
    assert last.messages[: len(before.messages)] == before.messages
    assert sum("Rules of src." in _text(one) for one in last.messages) == 1


async def test_one_that_joined_and_is_changed_or_gone_is_told_behind_what_was_sent(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "AGENTS.md", "Root rules.")
    _put(workspace / "src" / "AGENTS.md", "Old rules.")
    _put(workspace / "src" / "a.py", "x = 1\n")
    answers = [call(("read_file", '{"path": "src/a.py"}')), say("1"), say("2"), say("3"), say("4")]
    tools = list(tools_of("files").values())
    async with running(tmp_path, answers, tools, middlewares=[_reading(tmp_path)]) as bench:
        for count, change in enumerate((None, "New rules.", "", None), start=1):
            if change:
                _put(workspace / "src" / "AGENTS.md", change)
            elif change == "":
                (workspace / "src" / "AGENTS.md").unlink()
            bench.submit(SubmitPrompt(text="go"))
            await bench.until("turn.finished", count)
    for before, after in pairwise(bench.model.requests):
        assert after.system == before.system
        assert after.messages[: len(before.messages)] == before.messages
    changed, gone, same = (_text(request.messages[-1]) for request in bench.model.requests[-3:])
    assert "The text of src/AGENTS.md above no longer applies" in changed and "New rules." in changed
    assert "The text of src/AGENTS.md above no longer applies" in gone and "rules." not in gone
    assert same == "go"
    assert [one.path for one in bench.recorder.state.instructions] == ["AGENTS.md"]


async def test_calls_side_by_side_bring_the_instructions_of_their_folder_once(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "src" / "AGENTS.md", "Rules of src.")
    names = [f"src/{name}.py" for name in "abcd"]
    for name in names:
        _put(workspace / name, "x = 1\n")
    answers = [call(*(("read_file", f'{{"path": "{name}"}}') for name in names)), say("read")]
    tools = list(tools_of("files").values())
    async with running(tmp_path, answers, tools, middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    last = bench.model.requests[-1]
    assert [_text(one).count("Rules of src.") for one in last.messages][-1:] == [1]
    assert sum("Rules of src." in _text(one) for one in last.messages) == 1 and not last.system


async def test_after_a_compaction_they_stand_in_the_prompt_and_once(tmp_path: Path, workspace: Path) -> None:
    _put(workspace / "src" / "AGENTS.md", "Rules of src.")
    _put(workspace / "src" / "a.py", "x = 'a long line'\n" * 300)
    answers = [call(("read_file", '{"path": "src/a.py"}')), *map(say, ("1", "2", "a story", "3", "4"))]
    tools = list(tools_of("files").values())
    async with running(tmp_path, answers, tools, middlewares=[_reading(tmp_path)]) as bench:
        for count in (1, 2):
            bench.submit(SubmitPrompt(text="go " * 400))
            await bench.until("turn.finished", count)
        bench.submit(Compact())
        compacted = await bench.until("context.compacted")
        made = compacted.payload
        assert isinstance(made, ContextCompacted)
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished", 3)
        system, messages = bench.model.requests[-1].system, bench.model.requests[-1].messages
        assert system.count("Rules of src.") == 1
        assert not any("Rules of src." in _text(one) for one in messages)
        sizes = [one for one in made.sections if one.name == "instructions"]
        assert [one.chars for one in sizes] == [len(system) - len(SEPARATOR)], "counted where it stands"
        bench.submit(RestoreContext(compaction=compacted.seq))
        await bench.until("context.restored")
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished", 4)
    assert "Rules of src." not in bench.model.requests[-1].system
    assert sum("Rules of src." in _text(one) for one in bench.model.requests[-1].messages) == 1


async def test_a_delegate_has_those_of_the_folders_that_it_works_in_and_nobody_else(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "AGENTS.md", "Root rules.")
    for name in ("src", "docs"):
        _put(workspace / name / "AGENTS.md", f"Rules of {name}.")
        _put(workspace / name / "a.py", "x = 1\n")
    read_src, read_docs = (use("read_file", path=f"{name}/a.py") for name in ("src", "docs"))
    both = [("spawn_subtask", json.dumps({"prompt": f"{key}: go"})) for key in ("One", "Two")]
    look = ("delegate_readonly", '{"task": "Look: go"}')
    talks = Talks(
        Main=[call(*both), call(look), read_docs, say("done")],
        One=[read_src, use("read_file", path="src/AGENTS.md"), say("read")],
        Two=[read_docs, say("read")],
        Look=[read_src, say("seen")],
    )
    more = {"policy": judged, "policy_name": "accept-edits", "delegation": rules()}
    async with running(tmp_path, [], all_tools(), middlewares=[_reading(tmp_path)], **more) as bench:
        bench.use(talks)
        bench.submit(SubmitPrompt(text="Main: go"))
        await bench.until("turn.finished")
    for key, there in (("One", "Rules of src."), ("Two", "Rules of docs."), ("Main", "Rules of docs.")):
        first, *_, last = talks.of(key)
        assert "Root rules." in first.system and first.system == last.system
        told = [words for words in map(_text, last.messages) if "Rules of" in words]
        assert [there in words for words in told][:1] == [True], key
        assert len([words for words in told if "[tui-agent adds" in words]) == 1, key
    assert not any("ules" in words for words in map(_text, talks.of("Look")[-1].messages))
    assert [one.path for one in bench.recorder.state.instructions] == ["AGENTS.md", "docs/AGENTS.md"]


async def test_in_a_small_window_only_the_beginning_of_a_long_one_joins(
    tmp_path: Path, workspace: Path
) -> None:
    _put(workspace / "src" / "AGENTS.md", "Rules of src.\n" + "One more rule.\n" * 2_000)
    _put(workspace / "src" / "a.py", "x = 1\n")
    answers = [call(("read_file", '{"path": "src/a.py"}')), say("read")]
    tools = list(tools_of("files").values())
    async with running(tmp_path, answers, tools, middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    words = _text(bench.model.requests[-1].messages[-1])
    assert 3_000 < len(words) < 5_000 and "[src/AGENTS.md is too long to include in full. " in words
    assert "src/AGENTS.md is cut: " in bench.recorder.state.instruction_notes[0]


async def test_they_come_back_with_the_session(tmp_path: Path, workspace: Path) -> None:
    _put(workspace / "AGENTS.md", "Stay.")
    async with running(tmp_path, [say("1")], middlewares=[_reading(tmp_path)]) as bench:
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    async with running(tmp_path, [say("2")], middlewares=[_reading(tmp_path)]) as bench:
        assert [one.path for one in bench.recorder.state.instructions] == ["AGENTS.md"]
        bench.submit(SubmitPrompt(text="go"))
        await bench.until("turn.finished")
    assert bench.of(InstructionsLoaded) == [], "nothing changed, so nothing is recorded"
    assert "Stay." in bench.model.requests[0].system
