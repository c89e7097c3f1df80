"""A program that adds a suffix to the name of a missing file is judged by the file that it then reads."""

from tests.stubs.rows import rows
from tests.unit.policy.judging import WORKSPACE
from tui_agent.policy.decision.policy import RulePolicy
from tui_agent.ports.environment import WorkspaceLink
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import RunEffect

LINKS = tuple(WorkspaceLink(name, f"/srv/{name}") for name in ("e.gz", "n.Z", "q.zip", "r.zip.zip"))


def verdict(line: str) -> str:
    facts = PolicyFacts(WORKSPACE, "ask", links=LINKS, resolved={link.name: link.target for link in LINKS})
    return RulePolicy().decide("run_command", (RunEffect(script=line),), facts).verdict


@rows(
    "line",
    ["zcat e", "zcat n", "gunzip -c e", "gzip -dc e", "gzip -l e", "gzip -t e", "unzip -p q", "unzip -l q",
     "unzip -p r.zip", "unzip -Z1 q", "zipinfo q", "unzip -p 'q*'", "unzip -p 'q.z[i]p'", "zipinfo 'q?zip'", "cat e.gz"],
)  # fmt: skip
def test_a_link_that_such_a_name_leads_to_is_asked_about(line: str) -> None:
    assert verdict(line) == "ask"


@rows(
    "line",
    ["zcat a", "zcat logs/*.gz", "gunzip -c a.gz", "unzip -l a", "unzip -l a.zip 'x*'", "zipinfo a.jar"],
)
def test_other_names_are_not_asked_about(line: str) -> None:
    assert verdict(line) == "allow"
