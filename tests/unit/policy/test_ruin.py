"""Commands that only destroy are refused in every profile; those that come close are asked about, with their risk."""

import posixpath

import pytest

from tests.stubs.rows import rows
from tests.unit.policy.judging import confined, decide
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect
from tui_agent.protocol.settings import POLICIES, PolicyName

RUIN = [
    "rm -rf /", "rm -rf /*", "rm -rf /?*", "rm -rf /[a-z]*", "rm -rf ~", "rm -rf ~/*", "rm -rf .", "rm -rf *", "rm -rf ./[a-zA-Z]*",
    "rm -rf /home/eve", "rm -rf /home/eve/*", "rm -rf /Users/eve", "chmod -R 777 /", "chmod -R 777 ~", "chown -R eve /",
    "find / -delete", "find . -delete", "find / -exec rm -rf {} +", "find . -type f -exec rm {} +", "find / | xargs rm",
    "find . | while read f; do rm \"$f\"; done", "echo / | xargs rm -rf", "rm -rf $(echo /)", "eval 'rm -rf /'",
    "eval rm -rf '~'", "busybox rm -rf /", "cd ~ && bash -c 'rm -rf *'", "rsync -a --delete empty/ /", "rsync -a --delete empty/ ~/",
    "kill -9 -1", "kill -KILL -1", "kill -s 9 -- -1", "kill -- -1", "kill -1",
    "echo a\n\\\nrm -rf ~", "ls ==\nrm -rf ~", "sh -c ':(){ :|:& };:'", "f() (f & f)\nf", ":(){ :|:& };:", "bomb() { bomb | bomb & }; bomb", "while true; do bash & done", "while :; do (sleep 9 &); done",
    "for ((;;)); do ls & done", "until false; do ls & done",
    "init 0", "init 6", "telinit 6", "systemctl poweroff", "systemctl --force reboot", "sudo systemctl halt", "reboot", "shutdown -h now",
    "mkfs.ext4 /dev/sda1", "mke2fs /dev/sda1", "sudo mkfs -t ext4 /dev/sda",
]  # fmt: skip
GUARDED = [
    "echo x > /etc/passwd", "echo x | tee -a /etc/hosts", "sudo sh -c 'echo x > /etc/passwd'", "sed -i s/a/b/ /etc/hosts",
    "sed -i.bak s/a/b/ /etc/hosts", "cp x /usr/local/bin/git", "ln -sf x /usr/local/bin/git", "mv x /usr/local/bin",
    "echo x >> ~/.bashrc", "sed -i s/a/b/ ~/.bashrc", "sed --in-place s/a/b/ ~/.zshrc", "cp .bashrc ~", "mv .profile ~/", "cp -t ~ .bashrc",
    "cat k >> ~/.ssh/authorized_keys", "dd if=/dev/zero of=/dev/sda", "sgdisk -Z /dev/sda", "mdadm --stop /dev/md0",
    "cd .git && bash -c 'echo x > config'", "rm -rf .git", "rm -rf .g*", "rm -rf .[a-z]*", "echo x > .g*/config", "gofmt -w .git/x.go",
]  # fmt: skip


@rows("script", RUIN)
def test_ruin_is_refused_in_every_profile(script: str) -> None:
    for policy in POLICIES:
        found = decide(script, policy)
        assert (found.verdict, found.rule_id) == ("deny", "guard.ruin"), policy


@rows("script", GUARDED)
def test_a_guarded_file_is_written_in_no_profile(script: str) -> None:
    for policy in POLICIES:
        found = decide(script, policy)
        assert found.verdict == "deny", policy
        assert found.rule_id.startswith("guard.") or policy == "plan"


@rows(
    "script",
    [
        "rm -rf build/*", "rm -rf src", "rm *.pyc", "find src -exec rm {} +", "find . -name '*.pyc' -exec rm {} +", "kill 1",
        "rsync -a --delete a/ b/", "git clean -fdx", "git reset --hard", "git push --force", "crontab -r", "shred -u a",
        "kubectl delete ns prod", "terraform destroy",
    ],
)  # fmt: skip
def test_a_command_that_may_destroy_is_asked_about_with_its_risk(script: str) -> None:
    found = decide(script)
    assert found.verdict == "ask"
    assert found.risk and found.default_no


@rows(
    "script",
    [
        "systemctl stop sshd",
        "docker run -v /:/host x",
        "history -c",
        "userdel -r eve",
        "chmod u+s /tmp/x",
        "dropdb x",
    ],
)
def test_a_command_that_serves_no_reading_is_asked_about(script: str) -> None:
    assert decide(script).verdict == "ask"


@pytest.mark.parametrize(
    "script",
    [
        'while read -r f; do wc -l "$f" & done < list',
        "while true; do make & sleep 10; done",
        "for f in a b; do ls $f & done; wait",
        "f() { ls | cat; }; f | sort; f &",
        'walk() { ls "$1"; walk "$1/a"; }; walk src | sort',
    ],
)
def test_a_loop_that_ends_and_a_function_that_ends_are_no_ruin(script: str) -> None:
    assert decide(script, "bypass").rule_id != "guard.ruin"


@pytest.mark.parametrize(
    "script", ["cp a ../b", "echo x > ../b", "mkdir -p ~/x", "make > ../log", "mv a ~", "cp -r src ~"]
)
def test_a_command_that_writes_outside_is_asked_about_with_its_risk(script: str) -> None:
    policies: tuple[PolicyName, ...] = ("ask", "accept-edits")
    for policy in policies:
        found = decide(script, policy)
        assert (found.verdict, found.default_no) == ("ask", True)
        assert found.risk.endswith(" is outside this workspace.") and not found.risk.startswith("It ")
    assert decide(script, "bypass").verdict == "allow"


@pytest.mark.parametrize(
    "line",
    ["pkill .", "pkill -f .", "pkill -9 ''", "pkill '.*'", "pkill -KILL -f '^'", "pkill -u ada", "pkill -9 -U 1000", "killall5",
     "killall5 -9", "kill -9 -1", "killall -u ada", "killall -r '.*'", "skill -KILL -u ada", "loginctl terminate-user ada",
     "pkill '[a-z]'", "timeout 5 pkill .", "sh -c 'pkill .'"],
)  # fmt: skip
def test_ending_every_program_is_denied_in_every_profile(line: str) -> None:
    assert decide(line, "bypass").verdict == "deny"
    assert decide(line).verdict == "deny"
    assert confined(line, "bypass").verdict == "deny"


@pytest.mark.parametrize(
    "line",
    [
        "pkill node",
        "pkill -u ada node",
        "pkill -f 'python .*serve'",
        "killall node",
        "kill 1234",
        "pkill -9 a.b",
    ],
)
def test_ending_one_program_is_not(line: str) -> None:
    assert decide(line, "bypass").verdict == "allow"
    assert decide(line).classes == ("ends-processes",)


def test_ruin_is_found_behind_files_that_are_none() -> None:
    for script in ("rm a b /home/**", "rm a ~/**", "rm src/a.py ./**"):
        assert decide(script, "bypass").rule_id == "guard.ruin", script
    assert decide("rm a b src/**", "bypass").verdict == "allow"


HOME = "/data/people/ada"


def verdict_beside(script: str) -> str:
    """The verdict of `bypass` in a workspace that does not lie in the home, with all paths led to where they are."""
    policy, effects, workspace = RulePolicy(), (RunEffect(script=script),), "/work/timesheet"
    paths = {path: path.replace("~", HOME, 1) for path in policy.decision_paths(effects, ())}
    resolved = {path: posixpath.normpath(posixpath.join(workspace, real)) for path, real in paths.items()}
    return policy.decide("run_command", effects, PolicyFacts(workspace, "bypass", resolved)).verdict


@rows(
    "script",
    [
        "rm -rf ~/../ada", "rm -rf ~/../ada/*", "rm -rf ~/x/..", "rm -rf ~/../../people", "rm -rf /data/people/ada",
        "rm -rf /data/people/*", "rm -rf /data", "rm -rf ../../data/people", "cd ~/.. && rm -rf ada", "chmod -R 777 /data/people",
        "mv ~/../ada /tmp/x", "find /data/people -delete",
    ],
)  # fmt: skip
def test_a_home_that_lies_elsewhere_is_not_taken_away(script: str) -> None:
    assert verdict_beside(script) == "deny"


@rows("script", ["rm -rf ~/../eve/x", "rm -rf ~/build", "rm -rf ~/build/*", "rm -rf /data/other"])
def test_a_folder_beside_or_below_a_home_is_no_ruin(script: str) -> None:
    assert verdict_beside(script) != "deny"


def test_a_folder_that_a_tool_names_with_a_tilde_is_no_home() -> None:
    policy = RulePolicy()
    for cwd, path in (("~", "./~/a"), ("~/..", "./~/../a"), ("~root", "./~root/a")):
        effect = RunEffect(script="rm a", cwd=cwd)
        paths = policy.decision_paths((effect,), ())
        assert path in paths
        assert not [path for path in paths if path.startswith("~") and path != "~"]
        choices = policy.decide("t", (effect,), PolicyFacts("/work/timesheet", "ask")).choices
        [rule] = [choice.rule for choice in choices if choice.reach == "session"]
        assert rule.startswith(("allow exact cd './~", "allow exact rm a"))
