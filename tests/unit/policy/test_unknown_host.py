"""What is said of a command that uses the network without naming a host that can be read."""

import pytest

from tui_agent.policy.explain import what_it_does
from tui_agent.protocol.effects import Runs


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ("curl https://example.org/a", "example.org"),
        ("curl example.org", "example.org"),
        ("wget -q 'example.org:8080/a?b'", "example.org:8080"),
        ("http POST api.example.org/x name=a.b Accept:text/x", "api.example.org"),
        ("curl -d @a.json localhost", "host not known"),
        ("git push", "host not known"),
        ("pip install x", "package index"),
    ],
)
def test_the_row_of_the_network_is_never_empty(script: str, said: str) -> None:
    [deed] = what_it_does((Runs(script=script),))
    assert [one.about for one in deed.effects if one.word == "network"] == [said]
