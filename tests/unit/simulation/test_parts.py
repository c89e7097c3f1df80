"""The parts of a simulation: answers of users, what a user takes in, histories and their viewers, settings, templates."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.stubs.rows import rows
from tui_agent.errors import ConfigError, UsageError
from tui_agent.folds.simulation_fold import SeenMessage, SimulationHistory
from tui_agent.protocol.events.policy import PermissionChoice, PermissionRequested
from tui_agent.protocol.events.simulation import SimulationMessage
from tui_agent.protocol.events.turn import QuestionAsked
from tui_agent.protocol.ids import CallId, RequestId
from tui_agent.simulation.job_folder import MAX_HISTORY_BYTES, read_history
from tui_agent.simulation.mode_settings import MODES, choose_profile, load_mode, load_profiles, render
from tui_agent.simulation.orchestration import join_code, shorten_prose, split_code
from tui_agent.simulation.user import (
    FormatError,
    UserAction,
    parse_action,
    parse_decision,
    parse_reply,
)


def reply(response: str) -> str:
    return f"<think>hm</think>\n<response>\n{response}\n</response>"


@rows(
    "answer, action",
    [
        (reply("```bash\nls\n```"), UserAction("execute", "hm", "ls")),
        (
            reply("```request\nfix\n\n```py\nx\n```\nplease\n```"),
            UserAction("request", "hm", "fix\n\n```py\nx\n```\nplease"),
        ),
        (reply("```exit\n```"), UserAction("exit", "hm", "")),
        (reply("[TASK COMPLETE]"), UserAction("exit", "hm", "")),
        ("ls", "There is no <think>…</think>."),
        ("<think>hm</think> ls", "There is no <response>…</response>."),
        ("<think>hm</think><response>ls", "There is no <response>…</response>."),
        (reply(""), "The <response> is empty."),
        (reply("ls"), "The response must begin with ```bash, ```request or ```exit."),
        (reply("```python\nx\n```"), "The response must begin with ```bash, ```request or ```exit."),
        (reply("```bash\n\n```"), "The block ```bash is empty."),
        (reply("```bash\nls"), "The block in the response is not closed."),
        (reply("```bash\nls\n```\n```bash\npwd\n```"), "The response has more than one action."),
    ],
)
def test_an_answer_is_one_action_or_the_reason_why_not(answer: str, action: UserAction | str) -> None:
    if isinstance(action, UserAction):
        assert parse_action(answer) == action
    else:
        with pytest.raises(FormatError) as caught:
            parse_action(answer)
        assert str(caught.value) == action


def test_a_decision_is_one_of_the_offered_words_and_nothing_else_allows() -> None:
    request = PermissionRequested(
        request_id=RequestId("r"),
        call_id=CallId("c"),
        tool="run_command",
        verb="run",
        target="ls",
        effects=(),
        digest="",
        preview=(),
        choices=(
            PermissionChoice(reach="once", rule=""),
            PermissionChoice(reach="session", rule="x", offered=False),
        ),
    )
    decided = {
        text: (decision.decision, decision.message)
        for text in ("Yes.", "no", "No, not that file!", "no: why?")
        for decision in [parse_decision(request, reply(text))[2]]
    }
    assert decided == {
        "Yes.": ("allow", ""),
        "no": ("deny", ""),
        "No, not that file!": ("deny", "not that file!"),
        "no: why?": ("deny", "why?"),
    }
    for text in ("yes, this session", "yes but", "nothing", "maybe", "```bash\nls\n```"):
        with pytest.raises(FormatError, match="must be one of: yes, no"):
            parse_decision(request, reply(text))


def test_a_question_is_answered_by_number_or_in_own_words() -> None:
    question = QuestionAsked(question_id=RequestId("q"), text="Which?", form="choice", options=("a", "b"))
    answers = [parse_reply(question, reply(text))[2] for text in ("2.", "3", "the first")]
    assert [(answer.answer, answer.choice) for answer in answers] == [
        ("b", 1),
        ("3", None),
        ("the first", None),
    ]


def test_prose_is_cut_to_the_tokens_and_code_is_kept_whole() -> None:
    code = "```py\n" + "x = 1\n" * 200 + "```"
    prose, blocks = split_code(f"one two three\n{code}\nfour five\n```\nopen")
    assert (prose, blocks) == (
        "one two three\n[CODE BLOCK 0]\nfour five\n[CODE BLOCK 1]",
        [code, "```\nopen"],
    )
    short = shorten_prose("one two three four", 2, lambda text: len(text.split()))
    assert short == "one two …"
    assert shorten_prose("one two", 2, lambda text: len(text.split())) == "one two"
    assert code in join_code(short, blocks) and join_code("only prose", []) == "only prose"


def test_each_viewer_sees_its_own_part_of_the_history() -> None:
    history = SimulationHistory()
    for message in (
        SimulationMessage(
            role="user", visible_to=("user", "orchestrator", "system"), reasoning="hm", action="ls"
        ),
        SimulationMessage(role="environment", visible_to=("user", "orchestrator", "system"), response="a.py"),
        SimulationMessage(role="user", visible_to=("user", "agent"), reasoning="ask", response="fix a.py"),
        SimulationMessage(
            role="agent", visible_to=("agent", "system"), reasoning="I", action="edit", response=" "
        ),
        SimulationMessage(role="agent", visible_to=("user", "agent", "system"), response="Done."),
        SimulationMessage(role="orchestrator", visible_to=("user",), response=""),
        SimulationMessage(role="system", visible_to=("system",), response="Node 2."),
    ):
        history.append(message)
    assert history.get("user") == [
        SeenMessage("assistant", "<think>\nhm\n</think>\n<response>\n```bash\nls\n```\n</response>"),
        SeenMessage("user", "a.py"),
        SeenMessage(
            "assistant", "<think>\nask\n</think>\n<response>\n```request\nfix a.py\n```\n</response>"
        ),
        SeenMessage("user", "Done."),
    ]
    assert history.get("agent") == [SeenMessage("user", "fix a.py"), SeenMessage("assistant", "Done.")]
    assert history.get("orchestrator") == [
        SeenMessage("user", "user:\n(thinks) hm\n$ ls"),
        SeenMessage("user", "environment:\na.py"),
    ]
    assert [message.text for message in history.get("system")] == [
        "user:\n(thinks) hm\n$ ls",
        "environment:\na.py",
        "agent:\n(thinks) I\n$ edit",
        "agent:\nDone.",
        "system:\nNode 2.",
    ]


def test_every_mode_has_settings_and_a_broken_file_names_file_field_and_reason(tmp_path: Path) -> None:
    assert [type(load_mode(mode)).__name__ for mode in MODES] == [
        "AgentOnlySettings",
        "UserAgentSettings",
        "OrchestratedSettings",
    ]
    path = tmp_path / "mode.yaml"
    for text, message in (
        ("agent: {polcy: ask}", f"{path}: unknown key 'agent.polcy'. Did you mean 'policy'?"),
        ("agent: {policy: yolo}", f"{path}: 'agent.policy' is 'yolo': input should be"),
        ("agent: [", f"{path} is not valid YAML"),
        ("[]", f"{path}: expected a table with agent"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError) as caught:
            load_mode("agent-only", path)
        assert caught.value.message.startswith(message)


def test_profiles_are_added_by_yaml_alone(tmp_path: Path) -> None:
    (tmp_path / "user_profiles.yaml").write_text("tester: You test everything.\n")
    extra = tmp_path / "more.yaml"
    extra.write_text("vibe_coder: You only dance.\n")
    profiles = load_profiles(extra, tmp_path)
    assert sorted(profiles) == ["default", "junior_developer", "tester", "vibe_coder"]
    assert choose_profile(profiles, "vibe_coder") == "You only dance."
    with pytest.raises(UsageError, match="There is no profile 'nobody'"):
        choose_profile(profiles, "nobody")
    extra.write_text("quiet: ' '\n")
    with pytest.raises(ConfigError, match="The profile 'quiet' has no text"):
        load_profiles(extra, tmp_path)


def test_a_template_reaches_only_its_values_and_a_missing_one_is_named() -> None:
    assert render("{{ a }} {% if b %}x{% endif %}", "t", a=1, b=0) == "1"
    for template in ("{{ task }} {{ tsk }}", "{{ task.__class__.__mro__ }}", "{% if %}"):
        with pytest.raises(ConfigError, match="The template task_template is not valid: "):
            render(template, "task_template", task="x")
    with pytest.raises(ConfigError, match="'tsk' is undefined"):
        render("{{ tsk }}", "task_template", task="x")


def test_a_history_of_another_program_is_read_and_a_broken_one_is_named(tmp_path: Path) -> None:
    path = tmp_path / "chat_history.json"
    path.write_text(
        '[{"role": "agent", "visible_to": ["user"], "reasoning": "", "action": "", "response": "hi"}]'
    )
    assert [message.response for message in read_history(tmp_path)] == ["hi"]
    for text, message in (
        ("[", "is not valid JSON"),
        ("{}", "is not a list"),
        ('[{"role": "x"}]', "'0.role' is 'x': input should be"),
    ):
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            read_history(path)
    with pytest.raises(ConfigError, match="cannot be read"):
        read_history(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="is not a regular file"):
        read_history(Path("/dev/null"))
    with path.open("wb") as file:
        file.truncate(MAX_HISTORY_BYTES + 1)
    with pytest.raises(ConfigError, match="is larger than "):
        read_history(path)
    with pytest.raises(ConfigError, match=r"has no history\. Give a run's folder: JOBS/TASK/MODE/TIME"):
        read_history(tmp_path.parent)
    with pytest.raises(ValidationError):
        SimulationMessage(role="stranger", visible_to=())  # type: ignore[arg-type]
