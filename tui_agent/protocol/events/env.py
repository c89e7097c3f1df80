"""Environments that tools run in."""

from typing import Literal

from tui_agent.protocol.events.base import Payload


class EnvStarted(Payload):
    """`sandbox` names what confines commands; empty where nothing does, and `sandbox_why_not` then says why.
    `variables` are those with secrets that commands are shown all the same, as the configuration says."""

    kind: Literal["env.started"] = "env.started"
    environment: str
    root: str
    sandbox: str = ""
    sandbox_why_not: str = ""
    variables: tuple[str, ...] = ()


class EnvStopped(Payload):
    """The environment was closed; `leftovers` counts processes that had to be killed."""

    kind: Literal["env.stopped"] = "env.stopped"
    environment: str
    leftovers: int = 0
