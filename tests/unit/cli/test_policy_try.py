"""`policy try`: what other rules would have changed in past sessions."""

import json
import shutil
from pathlib import Path

from tests.stubs.golden import GOLDEN, golden
from tests.unit.cli.conftest import Call
from tui_agent.cli.policy.rule_trial import HOOK, SANDBOX
from tui_agent.engine.hooks import HOOK_RULE as HOOKS
from tui_agent.engine.tools.gate import LEAVE_SANDBOX_RULE, OPEN_FILES_RULE
from tui_agent.protocol.effects import Effect, ReadEffect, RunEffect, WriteEffect
from tui_agent.protocol.envelope import Envelope
from tui_agent.protocol.events.env import EnvStarted
from tui_agent.protocol.events.policy import PermissionDecided, PermissionRevoked
from tui_agent.protocol.events.session import SessionStarted
from tui_agent.protocol.events.tool import ToolCalled
from tui_agent.protocol.settings import ModelInfo, SessionSettings
from tui_agent.session.clock import SystemClock
from tui_agent.store.event_search import find_decisions
from tui_agent.store.redaction.redactor import Redactor
from tui_agent.store.session_store import SessionStore

SETTINGS = SessionSettings(model=ModelInfo(profile="demo", provider="scripted", model="demo"))


class Written:
    """A session whose decisions are written by hand."""

    def __init__(self, root: Path, workspace: Path, name: str = "ses_a", sandbox: str = "") -> None:
        self.log = SessionStore(root / "sessions", SystemClock(), Redactor()).create(name)
        self.log.append(SessionStarted(workspace=str(workspace), product="p", settings=SETTINGS))
        self.log.append(EnvStarted(environment="local", root=str(workspace), sandbox=sandbox))
        self.calls = 0

    def decided(
        self,
        effect: Effect,
        decision: str,
        by: str,
        *,
        tool: str = "run_command",
        rule: str = "",
        rule_id: str = "ask.commands",
        again: bool = False,
    ) -> int:
        """A decision; `again`: another one about the call before."""
        self.calls += not again
        call = f"call_{self.calls}"
        if not again:
            self.log.append(
                ToolCalled(call_id=call, name=tool, arguments={}, iteration=1, verb="run", target="x")
            )
        made = PermissionDecided(
            call_id=call,
            request_id=f"req_{self.calls}" if by == "user" else None,
            decision=decision,  # type: ignore[arg-type]
            decided_by=by,  # type: ignore[arg-type]
            policy="ask",
            rule_id=rule_id,
            reason="because",
            digest="0" * 32,
            effects=(effect,),
            reach="session" if rule else "once",
            rule=rule,
        )
        return self.log.append(made).seq


def rules(folder: Path, *lines: str) -> str:
    path = folder / "try.toml"
    entries = [
        f"[[rule]]\n{verdict} = '{rest}'\n" for verdict, _, rest in (line.partition(" ") for line in lines)
    ]
    path.write_text("".join(entries), encoding="utf-8")
    return str(path)


def tried(call: Call, *words: str) -> dict[str, object]:
    status, out, err = call("policy", "try", *words, "--json")
    assert (status, err) == (0, "")
    found: dict[str, object] = json.loads(out)
    return found


def test_each_kind_of_change_is_counted(call: Call, tmp_path: Path, work: Path) -> None:
    session = Written(tmp_path, work)
    saved = session.decided(RunEffect(script="pytest -q"), "allow", "user")
    passes = session.decided(RunEffect(script="pytest -x"), "deny", "user")
    nobody = session.decided(RunEffect(script="pytest"), "deny", "engine")
    stopped = session.decided(RunEffect(script="make install"), "allow", "user")
    asked = session.decided(ReadEffect(path="docs/a"), "allow", "rule")
    opened = session.decided(WriteEffect(path="src/a"), "deny", "rule")
    session.decided(RunEffect(script="git status"), "allow", "rule")
    session.log.close()
    file = rules(tmp_path, "allow run pytest *", "deny run make *", "ask read docs/**", "allow edit src/**")
    found = tried(call, file)
    cases = {case["seq"]: case for case in found.pop("cases")}  # type: ignore[attr-defined]
    assert {seq: case["change"] for seq, case in cases.items()} == {
        saved: "saved",
        passes: "passes",
        nobody: "saved",
        stopped: "stopped",
        asked: "asked",
        opened: "opened",
    }
    assert cases[stopped] == {
        "session": "ses_a",
        "seq": stopped,
        "change": "stopped",
        "what": "make install",
        "was": "allow",
        "by": "user",
        "now": "deny",
        "rule": "rule: deny run make *",
        "reason": f"the rule `deny run make *` of {file}, rule 2 (in every project) says so",
    }
    by_rule = found.pop("by_rule")
    assert by_rule[0] == {  # type: ignore[index]
        "rule": "rule: allow run pytest *", "saved": 2, "passes": 1, "opened": 0, "stopped": 0, "asked": 0
    }  # fmt: skip
    assert found == {
        "decisions": 7, "sessions": 1, "questions": 4, "instead": False,
        "saved": 2, "passes": 1, "opened": 1, "stopped": 1, "asked": 1, "same": 1,
    }  # fmt: skip


def test_the_file_stands_beside_the_present_rules_or_instead_of_them(
    call: Call, tmp_path: Path, work: Path
) -> None:
    session = Written(tmp_path, work)
    session.decided(RunEffect(script="make"), "allow", "user")
    session.log.close()
    present = tmp_path / "home" / ".config" / "tui-agent" / "policy.toml"
    present.parent.mkdir(parents=True)
    present.write_text("[[rule]]\nallow = 'run make *'\n", encoding="utf-8")
    file = rules(tmp_path, "allow run pytest *")
    assert tried(call, file)["saved"] == 1
    assert tried(call, file, "--instead")["saved"] == 0


def test_the_facts_are_those_of_the_time(call: Call, tmp_path: Path, work: Path) -> None:
    other = tmp_path / "other"
    session = Written(tmp_path, other, "ses_a", sandbox="bubblewrap")
    session.decided(WriteEffect(path=f"{other}/src/a"), "allow", "user", tool="edit_file")
    session.decided(RunEffect(script="make"), "allow", "user", rule="allow run make *")
    session.decided(RunEffect(script="make"), "allow", "rule")
    session.decided(RunEffect(script="pytest"), "allow", "user")
    session.log.close()
    file = rules(tmp_path, "allow edit src/**")
    assert tried(call, file)["decisions"] == 0
    found = tried(call, file, "--all")
    assert (found["decisions"], found["saved"], found["asked"], found["stopped"]) == (4, 1, 0, 0)
    assert tried(call, file, "--workspace", str(other))["decisions"] == 4
    assert tried(call, file, "--session", "ses_a", "--policy", "accept-edits")["saved"] == 3
    assert tried(call, rules(tmp_path, "deny tool edit_file"), "--all")["stopped"] == 1


def test_a_person_reads_a_table_with_the_first_cases(call: Call, tmp_path: Path, work: Path) -> None:
    session = Written(tmp_path, work)
    for number in range(7):
        session.decided(RunEffect(script=f"git push origin \x1b[31m{number}"), "allow", "user")
    session.log.close()
    status, out, _ = call("policy", "try", rules(tmp_path, "deny run git push *"))
    assert status == 0
    assert "7 decisions from 1 session, judged again by your rules and 1 new rule" in out
    assert "      7  ran; would now be denied" in out
    assert "      0          0        7      0  deny run git push *" in out
    assert "2 more; to list all, add --json" in out
    assert "\x1b[31m" not in out


def test_a_golden_log_gives_every_decision_that_a_whole_reading_gives(tmp_path: Path) -> None:
    for name in ("approval", "night_shift", "streaming"):
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(GOLDEN / f"{name}.jsonl", folder / "events.jsonl")
        found = list(find_decisions(folder))
        records = [one for one in golden(name) if isinstance(one, Envelope)]
        whole = [one.payload for one in records if isinstance(one.payload, PermissionDecided)]
        names = {
            one.payload.call_id: one.payload.name for one in records if isinstance(one.payload, ToolCalled)
        }
        assert [one.event for one in found] == whole and whole
        assert [one.tool for one in found] == [names[one.call_id] for one in whole]
        assert {one.workspace for one in found} == {"/home/ada/timesheet"}


def test_a_damaged_line_and_words_that_look_like_an_event_are_no_decisions(
    tmp_path: Path, work: Path
) -> None:
    session = Written(tmp_path, work)
    session.decided(RunEffect(script='echo \'"payload":{"kind":"permission.decided"\''), "allow", "rule")
    session.decided(RunEffect(script="ls"), "allow", "rule")
    session.log.close()
    path = tmp_path / "sessions" / "ses_a" / "events.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"script":"ls"', b'"script":"lx"'))
    assert [one.event.effects[0].kind for one in find_decisions(path.parent)] == ["runs"]


def test_a_file_that_is_not_there_or_is_wrong_is_refused(call: Call, tmp_path: Path) -> None:
    assert call("policy", "try", str(tmp_path / "no.toml"))[0] == 2
    status, _, err = call("policy", "try", rules(tmp_path, "allow fly a"))
    assert status == 2 and "try.toml, rule 1" in err


def test_a_decision_by_a_hook_or_about_the_sandbox_is_not_counted_as_saved(
    call: Call, tmp_path: Path, work: Path
) -> None:
    assert (HOOKS, {LEAVE_SANDBOX_RULE, OPEN_FILES_RULE}) == (HOOK, SANDBOX)
    session = Written(tmp_path, work)
    make = RunEffect(script="make")
    session.decided(make, "allow", "user")
    session.decided(
        make, "allow", "user", rule_id=LEAVE_SANDBOX_RULE, again=True
    )  # asked about whatever the rules
    session.decided(make, "deny", "rule", rule_id=HOOK)  # a hook refused it, and would again
    session.decided(make, "allow", "user", rule_id=HOOK)  # a hook wanted to be asked
    session.decided(
        RunEffect(script="pytest -q"), "allow", "rule", rule_id=HOOK
    )  # a hook answered what the profile asks
    session.decided(RunEffect(script="pytest -q"), "deny", "rule", rule_id=HOOK)
    session.log.close()
    found = tried(call, rules(tmp_path, "allow run make *"))
    assert (found["decisions"], found["questions"], found["saved"], found["same"]) == (6, 3, 1, 5)
    found = tried(call, rules(tmp_path, "deny run make *"))
    assert (found["stopped"], found["same"]) == (3, 3)
    found = tried(call, rules(tmp_path, "ask run pytest *"))
    assert (found["asked"], found["same"]) == (1, 5)  # a rule that asks is no profile that does


def test_a_rule_that_was_taken_back_counts_no_more(call: Call, tmp_path: Path, work: Path) -> None:
    session = Written(tmp_path, work)
    session.decided(RunEffect(script="make"), "allow", "user", rule="allow run make *")
    session.decided(RunEffect(script="make"), "allow", "rule")
    session.log.append(PermissionRevoked(rule="allow run make *"))
    session.decided(RunEffect(script="make"), "allow", "user")
    session.log.close()
    found = tried(call, rules(tmp_path, "allow run pytest *"))
    assert (found["saved"], found["same"]) == (0, 3)


def test_a_call_that_was_judged_twice_is_judged_as_the_same_tools_both_times(
    call: Call, tmp_path: Path, work: Path
) -> None:
    session = Written(tmp_path, work)
    session.decided(RunEffect(script="make"), "allow", "user")
    session.decided(RunEffect(script="make"), "allow", "user", again=True)
    session.log.close()
    assert tried(call, rules(tmp_path, "deny tool run_command"))["stopped"] == 2


def test_words_that_hold_blanks_are_told_from_several(call: Call, tmp_path: Path, work: Path) -> None:
    session = Written(tmp_path, work)
    session.decided(RunEffect(argv=("python3", "-c", "print( 1 )")), "allow", "user")
    session.log.close()
    cases = tried(call, rules(tmp_path, "deny run python3 *"))["cases"]
    assert [case["what"] for case in cases] == ["python3 -c 'print( 1 )'"]  # type: ignore[attr-defined]


def test_a_question_that_nobody_could_answer_is_a_question(call: Call, tmp_path: Path, work: Path) -> None:
    script = work / "try.yaml"
    script.write_text(
        "- calls: [{run_command: {command: make all}}, {read_file: {path: ../out.txt}}]\n- text: Done.\n",
        encoding="utf-8",
    )
    call("run", "go", "--model", f"scripted:{script}", "--policy", "ask")
    found = tried(call, rules(tmp_path, "deny run never *"))
    assert (found["questions"], found["opened"], found["same"], found["cases"]) == (2, 0, 2, [])
    file = rules(tmp_path, "allow run make *")
    found = tried(call, file)
    assert (found["saved"], found["opened"], found["passes"], found["same"]) == (1, 0, 0, 1)
    _, out, _ = call("policy", "try", file)
    assert "      1 of 2 questions would no longer be asked" in out
    shown = out.partition("Denied because nobody could answer; would now run:")[2]
    assert "make all" in shown and "out.txt" not in shown
