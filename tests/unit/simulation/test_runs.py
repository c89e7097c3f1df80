"""Simulations in all modes with scripted models, through real sessions."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tui_agent.cli.main import main
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError
from tui_agent.evals.cases.case import Case
from tui_agent.folds.simulation_fold import SimulationHistory
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.session import SessionEnded
from tui_agent.simulation.mode_settings import (
    OrchestratedSettings,
    UserAgentSettings,
    load_mode,
    load_orchestrated,
)
from tui_agent.simulation.simulation_modes import (
    FinishedRun,
    Simulation,
    run_agent_only,
    run_orchestrated,
    run_user_agent,
)
from tui_agent.simulation.task_tree import parse_task_tree
from tui_agent.store.log_reader import read_records

CASE = Case(id="greet", prompt="Write hello.txt, then bye.txt.", test_command="grep -q hi hello.txt")
TREE = [
    {"id": "root", "description": "Files with greetings.", "parent": ""},
    {"id": "1", "description": "hello.txt says hi.", "parent": "root"},
    {"id": "2", "description": "bye.txt says bye.", "parent": "root"},
]
WRITE = {"calls": [{"write_file": {"path": "hello.txt", "content": "hi\n"}}]}
AGENT = [WRITE, {"text": "Written. " + "It says hi. " * 60 + "\n```\nhi\n```"}, {"text": "Done."}]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))


def script(path: Path, answers: object) -> str:
    path.write_text(json.dumps({"answers": answers}))
    return f"scripted:{path}"


def reply(response: str) -> dict[str, str]:
    return {"text": f"<think>hm</think><response>\n{response}\n</response>"}


ASK, EXIT = reply("```request\nwrite hello.txt\n```"), reply("```exit\n```")


def simulation(folder: Path, agent: object, user: object = ()) -> Simulation:
    return Simulation(
        case=CASE,
        options=SessionOptions(
            cwd=folder, data_dir=folder / "data", model=script(folder / "agent.yaml", agent), no_plugins=True
        ),
        jobs=folder / "jobs",
        profile_name="default",
        profile="You are Kim.",
        user_model=script(folder / "user.yaml", user),
    )


def user_agent(**limits: int) -> UserAgentSettings:
    settings = load_mode("user-agent")
    assert isinstance(settings, UserAgentSettings)
    return settings.model_copy(update={"limits": settings.limits.model_copy(update=limits)})


def responses(run: FinishedRun, role: str) -> list[str]:
    name = "history.json" if "orchestrated" in run.result.mode else "chat_history.json"
    rows = json.loads((run.folder.path / name).read_text())
    return [row["response"] for row in rows if row["role"] == role]


async def test_an_agent_alone_gets_the_whole_task_and_what_needs_a_user_is_denied(tmp_path: Path) -> None:
    settings = load_mode("agent-only")
    settings = settings.model_copy(update={"agent": settings.agent.model_copy(update={"policy": "ask"})})
    run = await run_agent_only(simulation(tmp_path, [WRITE, {"text": "I may not write."}]), settings)
    assert (run.result.success, run.result.end, run.result.turns) == (0, "agent_exit", 1)
    assert responses(run, "user") == [CASE.prompt]
    (failed,) = responses(run, "environment")
    assert failed.startswith("write_file denied: ")
    assert run.folder.path.parent == tmp_path / "jobs" / "greet" / "agent-only"


async def test_a_user_works_with_the_agent_approves_and_stops(tmp_path: Path) -> None:
    look = reply("```bash\ncat hello.txt; ls\n```")
    user = [{"text": "no form"}, ASK, reply("perhaps"), reply("yes"), look, EXIT]
    run = await run_user_agent(simulation(tmp_path, AGENT, user), user_agent())
    result = run.result
    assert (result.success, result.end, result.turns, result.requests, result.commands) == (
        1,
        "user_exit",
        3,
        1,
        1,
    )
    assert (result.format_errors, result.allowed, result.denied) == (2, 1, 0)
    assert result.user_tokens > 0 and result.agent_tokens > 0
    assert json.loads((run.folder.path / "result.json").read_text())["session"] == result.session
    assert (run.folder.path / "environment_snapshot" / "hello.txt").read_text() == "hi\n"
    records = read_records(tmp_path / "data" / "sessions" / result.session)
    history = SimulationHistory()
    for record in records:
        if isinstance(record, Envelope):
            history.apply(record)
    assert "hm" not in "".join(seen.text for seen in history.get("agent"))
    kinds = [record.payload.kind for record in records if isinstance(record, Envelope)]
    assert kinds.count("permission.requested") == 1 and "session.ended" in kinds
    (printed,) = responses(run, "environment")
    assert printed == "hi\nhello.txt" or "Commands cannot be run here" in printed


@pytest.mark.slow
async def test_a_user_who_never_stops_fails_or_talks_nonsense_ends_the_run(tmp_path: Path) -> None:
    for number, (user, limits, end, words) in enumerate(
        (
            ([ASK, reply("no: first the plan"), ASK, ASK], {"max_turns": 1}, "turn_limit", "within 1 turns"),
            ([], {}, "user_error", "The simulated user's model failed: The script"),
            ([{"text": "x"}, {"text": "y"}], {"max_answer_attempts": 2}, "user_error", "no usable answer"),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        run = await run_user_agent(simulation(folder, AGENT, user), user_agent(**limits))
        assert (run.result.success, run.result.end) == (0, end)
        assert words in run.result.detail


@pytest.mark.slow
async def test_each_budget_of_the_session_ends_the_run_and_its_trajectory_with_its_name(
    tmp_path: Path,
) -> None:
    write = {**WRITE, "usage": {"input": 100, "output": 10}}
    agent = {
        "input_price": 1e6,
        "output_price": 1e6,
        "answers": [write, {"text": "Done."}, write, {"text": "Done."}],
    }
    for number, (option, end, reason) in enumerate(
        (
            ({"max_parts": 2}, "part_limit", "part_limit"),
            ({"max_iterations": 1}, "iteration_limit", "iteration_limit"),
            ({"max_turns": 1}, "turn_limit", "turn_limit"),
            ({"timeout_seconds": 0.001}, "time_limit", "timeout"),
            ({"max_cost_usd": 1.0}, "cost_limit", "cost_limit"),
        )
    ):
        folder = tmp_path / str(number)
        folder.mkdir()
        started = simulation(folder, [], [ASK, ASK, ASK])
        (folder / "agent.yaml").write_text(json.dumps(agent))
        case = CASE.model_copy(update={"test_command": "false"})
        options = replace(started.options, policy="bypass", **option)
        run = await run_user_agent(replace(started, case=case, options=options), user_agent())
        records = read_records(folder / "data" / "sessions" / run.result.session)
        ended = [
            record.payload.reason
            for record in records
            if isinstance(record, Envelope) and isinstance(record.payload, SessionEnded)
        ]
        assert (run.result.end, ended) == (end, [reason]), option


async def test_a_command_of_the_user_ends_at_the_time_limit(tmp_path: Path) -> None:
    started = simulation(tmp_path, [], [reply("```bash\nsleep 60\n```"), EXIT])
    started = replace(started, options=replace(started.options, timeout_seconds=0.2))
    run = await run_user_agent(started, user_agent())
    (printed,) = responses(run, "environment")
    assert run.result.end == "user_exit" and ("0.2" in printed or "Commands cannot be run here" in printed)


@pytest.mark.slow
async def test_a_user_meets_the_task_node_by_node_and_cannot_stop_before_its_end(tmp_path: Path) -> None:
    settings: OrchestratedSettings = load_orchestrated()
    user = [ASK, reply("yes, this session"), EXIT, EXIT]
    started = simulation(tmp_path, AGENT, user)
    run = await run_orchestrated(started, settings, parse_task_tree(TREE, "t"))
    assert (run.result.success, run.result.end, run.result.turns) == (1, "user_exit", 3)
    tree = json.loads((run.folder.path / "task_tree.json").read_text())
    assert [node["status"] for node in (tree, *tree["children"])] == ["completed"] * 3
    assert responses(run, "orchestrator") == [
        "This comes to your mind now:\n- hello.txt says hi.",
        "You wanted to stop, but the task is not done: more of it comes to your mind.",
        "This comes to your mind now:\n- bye.txt says bye.",
    ]
    perceived = responses(run, "system")[-1]
    assert perceived.count("It says hi.") < 60 and perceived.endswith("[CODE BLOCK 0]:\n```\nhi\n```")


@pytest.mark.slow
async def test_a_node_with_children_is_completed_with_the_last_of_them(tmp_path: Path) -> None:
    nested = [{**node, "parent": node["parent"] and "middle"} for node in TREE]
    nested.insert(1, {"id": "middle", "description": "Two files.", "parent": "root"})
    for limit, expected in ((2, ["completed", "pending", "completed", "pending"]), (3, ["completed"] * 4)):
        settings = load_orchestrated()
        limits = settings.limits.model_copy(update={"max_turns": limit})
        started = simulation(tmp_path, AGENT, [ASK, reply("yes, this session"), EXIT, EXIT])
        tree = parse_task_tree(nested, "t")
        run = await run_orchestrated(started, settings.model_copy(update={"limits": limits}), tree)
        root = json.loads((run.folder.path / "task_tree.json").read_text())
        (middle,) = root["children"]
        assert [node["status"] for node in (root, middle, *middle["children"])] == expected


async def test_a_model_plays_perception_memory_and_progress(tmp_path: Path) -> None:
    settings = load_orchestrated()
    chosen = settings.orchestrator.model_copy(update={"kind": "default"})
    settings = settings.model_copy(update={"orchestrator": chosen})
    started = simulation(tmp_path, AGENT)
    conversations = {
        "You play a person": [ASK, reply("yes"), EXIT, EXIT],
        "reads a text": [{"text": "no tag"}, {"text": "<perception>… written …</perception>"}],
        "Update the person": [{"text": f"<memory>remembered {number}</memory>"} for number in range(3)],
        "come to the person's mind": [
            {"text": f"<nodes>{ids}</nodes>"}
            for ids in ('["3"]', '[{"id": "1"}]', '["1"]', "[" * 100_000, '["1", "2"]')
        ],
    }
    user = [
        {"match": {"system" if "play" in words else "first_user": words}, "answers": answers}
        for words, answers in conversations.items()
    ]
    (tmp_path / "user.yaml").write_text(json.dumps({"conversations": user}))
    run = await run_orchestrated(started, settings, parse_task_tree(TREE, "t"))
    assert (run.result.success, run.result.end, run.result.detail) == (1, "user_exit", "")
    assert run.folder.path.parent.name == "orchestrated-default"
    assert responses(run, "system")[-1].startswith("… written …\n\nCode to copy or run")
    assert [text.splitlines()[-1] for text in responses(run, "orchestrator")] == [
        "- hello.txt says hi.",
        "You wanted to stop, but the task is not done: more of it comes to your mind.",
        "- bye.txt says bye.",
    ]


def test_a_cost_limit_over_a_model_without_a_known_price_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "task.md").write_text("Do it.")
    (tmp_path / "env").mkdir()
    model = script(tmp_path / "agent.yaml", [{"text": "Done."}])
    words = ["sim", "run", "--mode", "agent-only", "--task", str(tmp_path / "task.md"), "-m", model]
    words += ["--env", str(tmp_path / "env"), "--test", "false", "--jobs", str(tmp_path / "jobs")]
    assert main([*words, "--data-dir", str(tmp_path / "data"), "--max-cost", "1"]) == 1
    told = "tui-agent: The price of agent is unknown, so the cost limit of $1.00 cannot be enforced."
    assert capsys.readouterr().err.startswith(told)


async def test_a_model_that_does_not_exist_is_refused_and_leaves_no_folder(tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        await run_agent_only(simulation(tmp_path, "no script"), load_mode("agent-only"))
    assert not list((tmp_path / "jobs").rglob("result.json"))
