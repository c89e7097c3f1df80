"""The classes of docs/policy.md: each row's example is of its class, and so is everything of its kind."""

import re
from pathlib import Path

from tests.stubs.rows import rows
from tests.unit.policy.judging import classes, verdict
from tui_agent.policy.decision.call_classes import CLASSES

DOCS = (Path(__file__).parents[3] / "docs" / "policy.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"^\| `([a-z-]+)` \| [^|]+ \| `(.+)` \|$", DOCS, re.MULTILINE)
KINDS = {
    "read-only": ["git log -5", "git -C src status", "awk '{print $1}' a", "docker ps", "timeout 5 ls", "tail -3 a"],
    "workspace": ["git commit -m x", "echo a > b", "cargo build", "npm test", "black src", "sed -i s/a/b/ f", "eval 'mkdir a'"],
    "network": ["nslookup x", "dig x", "gh pr view 1"],
    "arbitrary": ["./x", "frobnicate", "PAGER=x git log", "git -c a.b=c log", "vim a", "env", "bash x.sh", "docker exec a b", "ssh h",
                  "tar xf a.tar", "systemctl restart x", "usermod x", "pip install x"],
    "ends-processes": ["kill 1", "killall node", "pkill -f serve", "foo; kill 1"],
    "destructive": ["rm a", "git clean -fd", "git stash drop", "docker rm a", "cargo clean", "shred a", "xargs rm",
                    "find src -name a -delete", "foo; rm a"],
    "privilege": ["su", "doas ls", "sudo rm a"],
}  # fmt: skip


def test_the_table_has_a_row_for_each_class() -> None:
    assert tuple(name for name, _ in SHOWN) == CLASSES
    assert set(KINDS) == set(CLASSES)


@rows("name, script", [*SHOWN, *((name, one) for name in KINDS for one in KINDS[name])])
def test_a_line_is_of_its_class_and_no_worse(name: str, script: str) -> None:
    assert classes(script)[-1] == name
    assert (verdict(script) == "allow") == (name == "read-only")
