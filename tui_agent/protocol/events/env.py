"""Events of the environments that run tools."""

from typing import Literal

from tui_agent.protocol.events.base import Payload

LOCAL_ENVIRONMENT = "local"
"""The name of the environment whose commands run on this machine."""


class EnvStarted(Payload):
    """An environment is ready.

    `sandbox` is the name of the commands' sandbox; if it is empty, `no_sandbox_reason` gives the reason. `details` says
    where commands run, if not on this machine: the image and the network of a container.
    `exposed_variables` are environment variables with secrets that commands can see because the configuration allows
    it.
    """

    kind: Literal["env.started"] = "env.started"
    environment: str
    root: str
    sandbox: str = ""
    no_sandbox_reason: str = ""
    exposed_variables: tuple[str, ...] = ()
    details: str = ""

    @property
    def workspace_sandbox(self) -> str:
        """The sandbox's name if it keeps the promises of docs/sandbox.md, else empty.

        Only the local environment's sandbox does.
        """
        return self.sandbox if self.environment == LOCAL_ENVIRONMENT else ""


class EnvStopped(Payload):
    """An environment was closed; `leftovers` counts processes that had to be killed."""

    kind: Literal["env.stopped"] = "env.stopped"
    environment: str
    leftovers: int = 0
