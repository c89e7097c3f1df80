"""L0: environments that tools run in."""

from typing import Literal

from tui_agent.protocol.events.base import Payload


class EnvStarted(Payload):
    """`sandbox` names what holds commands in (`none` where nothing does)."""

    kind: Literal["env.started"] = "env.started"
    environment: str
    root: str
    sandbox: str = "none"


class EnvStopped(Payload):
    """The environment was closed; `leftovers` counts processes that had to be killed."""

    kind: Literal["env.stopped"] = "env.stopped"
    environment: str
    leftovers: int = 0
