"""From configuration, plugins and a project's files to the policy of a start."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from tui_agent.cli.main import main
from tui_agent.cli.policy.command import PolicyBench
from tui_agent.config.session_options import SessionOptions
from tui_agent.errors import ConfigError, EnvironmentFault
from tui_agent.plugin_host.registered_objects import OfferedPolicyTable
from tui_agent.plugin_host.registration import OwnedApi
from tui_agent.policy.decision.rule_file import append_rule
from tui_agent.ports.policy import Policy, PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.wiring.policy import build_policy
from tui_agent.wiring.startup_context import StartupContext, load_startup_context
from tui_agent.workspace.local.environment import LocalEnvironment


@pytest.fixture
def base(tmp_path: Path) -> StartupContext:
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "home" / ".config" / "tui-agent").mkdir(parents=True)
    options = SessionOptions(
        cwd=work, cwd_given=True, client="headless", interactive=False, data_dir=tmp_path
    )
    return load_startup_context(options, {"HOME": str(tmp_path / "home")})


def own(base: StartupContext, name: str, text: str) -> Path:
    path = base.config.paths.config_dir / name
    path.write_text(text, encoding="utf-8")
    return path


def table(name: str) -> str:
    """An entry of a program that shows files."""
    return f"[programs.{name}]\nabout = 'Shows files.'\neffects = ['reads']\noperands = ['read...']\nreads_below = false\n"


def verdict(policy: Policy, script: str) -> str:
    return policy.decide(
        "run_command", (RunEffect(script=script),), PolicyFacts("/home/ada/ws", "ask")
    ).verdict


def test_rules_written_during_a_session_count_from_the_next_call_on(base: StartupContext) -> None:
    policy, _ = build_policy(base, reloading=True)
    assert verdict(policy, "make") == "ask"
    path = own(base, "policy.toml", "[[rule]]\nallow = 'run make *'\n[[rule]]\ndeny = 'run git push *'\n")
    assert (verdict(policy, "make"), verdict(policy, "git push")) == ("allow", "deny")
    path.write_text("[[rule]", encoding="utf-8")
    assert (verdict(policy, "make"), verdict(policy, "git push")) == ("ask", "deny")
    path.unlink()
    assert (verdict(policy, "make"), verdict(policy, "git push")) == ("ask", "ask")


def test_a_start_with_a_wrong_file_is_refused_with_its_place(base: StartupContext) -> None:
    path = own(base, "policy.toml", "[[rule]]\nallow = 'fly a'\n")
    with pytest.raises(ConfigError, match=f"{path}, rule 1"):
        build_policy(base, reloading=True)
    path.unlink()
    path = own(base, "programs.toml", "[programs.x]\nabout = 'X.'\neffects = ['magic']\n")
    with pytest.raises(ConfigError, match=rf"{path}:3: programs\.x\.effects"):
        build_policy(base, reloading=True)


def test_the_users_programs_count(base: StartupContext) -> None:
    own(base, "programs.toml", table("showlog"))
    assert verdict(build_policy(base)[0], "showlog app.log") == "allow"


def test_a_plugins_table_counts_and_one_with_a_fault_is_left_out(
    base: StartupContext, tmp_path: Path
) -> None:
    good = OfferedPolicyTable("logs", tmp_path / "logs.toml", table("showlog"))
    bad = OfferedPolicyTable("evil", tmp_path / "evil.toml", "[programs.curl]\nlike = 'ls'")
    policy, refused = build_policy(base, [good, bad])
    assert (verdict(policy, "showlog app.log"), verdict(policy, "curl x")) == ("allow", "ask")
    assert [fault.plugin for fault in refused] == ["evil"]
    assert "the plugin evil (evil.toml):2: programs.curl.like: this key is not allowed" in refused[0].message


def test_a_plugin_offers_a_table_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "t.toml").write_text(table("a"), encoding="utf-8")
    api = OwnedApi("p", tmp_path)
    api.policy_table("t.toml")
    (offered,) = api.offers.policy_tables
    assert (offered.owner, offered.text) == ("p", table("a"))
    assert api.names == ["policy_table:t.toml"]
    with pytest.raises(Exception, match=r"no\.toml of p cannot be read"):
        api.policy_table("no.toml")


@pytest.fixture
def call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def run(*words: str) -> tuple[int, str, str]:
        status = main([*words])
        out, err = capsys.readouterr()
        return status, out, err

    return run


def test_policy_check_uses_the_tables_of_the_user_and_of_plugins_and_takes_a_folder(
    call: Callable[..., tuple[int, str, str]], base: StartupContext, tmp_path: Path
) -> None:
    own(base, "programs.toml", table("showlog"))
    plugin = tmp_path / "more"
    plugin.mkdir()
    (plugin / "__init__.py").write_text(
        "def register(api):\n    api.policy_table('t.toml')\n", encoding="utf-8"
    )
    (plugin / "t.toml").write_text(table("peek"), encoding="utf-8")
    place = ("-C", str(tmp_path / "work"))
    assert call("policy", "check", *place, "--", "showlog a")[1].startswith("allow")
    assert call("policy", "check", *place, "--", "peek a")[1].startswith("ask")
    with_plugin = ("--plugin-dir", str(plugin))
    assert call("policy", "check", *place, *with_plugin, "--", "peek a")[1].startswith("allow")
    assert call("policy", "check", *place, "--", f"cat {tmp_path / 'work' / 'a'}")[1].startswith("allow")


def test_policy_rules_lists_them_with_their_source(
    call: Callable[..., tuple[int, str, str]], base: StartupContext, tmp_path: Path
) -> None:
    path = own(base, "policy.toml", "[[rule]]\nallow = 'run make *'\n")
    status, out, _ = call("policy", "rules", "-C", str(tmp_path / "work"))
    assert (status, out) == (0, f"allow run make *  in every project, {path}, rule 1\n")
    assert '"rule": "allow run make *"' in call("policy", "rules", "--json", "-C", str(tmp_path / "work"))[1]
    path.unlink()
    assert call("policy", "rules", "-C", str(tmp_path / "work"))[1].startswith("No rules.")


def test_policy_remove_takes_a_rule_of_this_project_or_of_every_one_out_of_your_file(
    call: Callable[..., tuple[int, str, str]], base: StartupContext, tmp_path: Path
) -> None:
    work, rule = tmp_path / "work", "allow run make *"
    path = own(base, "policy.toml", "")
    append_rule(path, rule, str(work))
    append_rule(path, rule)
    assert call("policy", "remove", "-C", str(work), rule)[:2] == (
        0,
        f"Removed `{rule}` (in this project) from {path}.\n",
    )
    status, _, fault = call("policy", "remove", "-C", str(work), rule)
    assert status == 2 and f"{path} has no rule `{rule}` for this project" in fault
    out = call("policy", "remove", "-C", str(work), "--everywhere", rule)[1]
    assert (out, path.read_text()) == (f"Removed `{rule}` (in every project) from {path}.\n", "")


def test_policy_rules_and_check_say_where_a_rule_applies(
    call: Callable[..., tuple[int, str, str]], base: StartupContext, tmp_path: Path
) -> None:
    work = tmp_path / "work"
    path = own(base, "policy.toml", "[[rule]]\ndeny = 'run git push *'\n")
    append_rule(path, "allow run make *", str(work))
    append_rule(path, "allow run make *", str(tmp_path / "other"))
    assert call("policy", "rules", "-C", str(work))[1].splitlines() == [
        f"deny run git push *  in every project, {path}, rule 1",
        f"allow run make *  in this project, {path}, rule 2",
    ]
    every = call("policy", "rules", "--all", "-C", str(work))[1].splitlines()
    assert every[2:] == [f"allow run make *  in {tmp_path / 'other'}, {path}, rule 3"]
    rows = [json.loads(row) for row in call("policy", "rules", "--json", "-C", str(work))[1].splitlines()]
    assert [(row["rule"], row["workspace"], row["scope"]) for row in rows] == [
        ("deny run git push *", "", "in every project"),
        ("allow run make *", str(work), "in this project"),
    ]
    because = f"the rule `allow run make *` of {path}, rule 2 (in this project) says so"
    out = call("policy", "check", "--explain", "-C", str(work), "--", "make")[1].splitlines()
    assert out[0] == "allow: make" and f"  because {because}" in out
    assert f"  rule: allow run make * decides allow: {because}" in out
    (tmp_path / "third").mkdir()
    assert call("policy", "check", "-C", str(tmp_path / "third"), "--", "make")[1].startswith("ask: make\n")
    refused = call("policy", "check", "-C", str(work), "--", "git push")[1]
    assert f"of {path}, rule 1 (in every project) says so" in refused


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("cat inside.txt", "allow"),
        ("cat link.txt", "ask"),
        ("ls linked", "ask"),
        ("cat key", "deny"),
        ("git status", "ask"),
        ("ls $(git rev-parse --show-toplevel)", "ask"),
    ],
)
def test_a_check_follows_links_and_looks_for_programs_as_a_session_does(
    base: StartupContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, expected: str
) -> None:
    work, outside = base.options.cwd, tmp_path / "outside"
    outside.mkdir()
    for path in (work / "inside.txt", outside / "a.txt", outside / "id_rsa"):
        path.write_text("x")
    (work / "link.txt").symlink_to(outside / "a.txt")
    (work / "linked").symlink_to(outside)
    (work / "key").symlink_to(outside / "id_rsa")
    (work / "bin").mkdir()
    (work / "bin" / "git").write_text("#!/bin/sh\n")
    (work / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{work}/bin:/usr/bin:/bin")
    bench = PolicyBench.for_workspace(base, build_policy(base)[0])
    assert bench.judge(script).decision.verdict == expected


def test_a_check_knows_the_files_with_secrets_of_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "home" / ".config" / "tui-agent"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("[sandbox]\nmode = 'off'\n")  # a sandbox hides them
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / ".env").write_text("X=1\n")
    (tmp_path / "src").mkdir()
    words = ["policy", "check", "-C", str(tmp_path), "--data-dir", str(tmp_path / "data"), "--json", "--"]
    found = []
    for command in ("grep -rn X .", "rg --hidden -uu X", "rg X", "grep -rn X src"):
        assert main([*words, command]) == 0
        said = json.loads(capsys.readouterr().out)
        found.append((said["decision"], said["rule"]))
    assert found == [
        ("ask", "guard.below"),
        ("ask", "guard.below"),
        ("allow", "reads.command"),
        ("allow", "reads.command"),
    ]


class BlindEnvironment(LocalEnvironment):
    """Where `/proc/1/ns/net` cannot be looked up, as for whoever may not look at that process."""

    def resolve_all(self, paths: Iterable[str]) -> dict[str, str]:
        for path in (given := tuple(paths)):
            if path.startswith("/proc/1/ns"):
                raise EnvironmentFault(f"The path {path} cannot be resolved: not permitted.")
        return super().resolve_all(given)


def test_a_path_that_cannot_be_looked_up_denies_its_line_and_no_other(base: StartupContext) -> None:
    env = BlindEnvironment(base.options.cwd)
    bench = replace(PolicyBench.for_workspace(base, build_policy(base, [])[0]), env=env)
    denied, allowed = (bench.judge(line).decision for line in ("cat /proc/1/ns/net", "ls"))
    assert (denied.verdict, allowed.verdict) == ("deny", "allow")
    assert "/proc/1/ns/net cannot be resolved" in denied.reason
