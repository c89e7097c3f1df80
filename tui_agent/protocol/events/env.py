"""Events of the environments that run tools."""

from typing import Literal

from tui_agent.protocol.base import Payload

LOCAL_ENVIRONMENT = "local"
"""Name of the environment that runs commands on this machine."""


class EnvStarted(Payload):
    """An environment is ready.

    `sandbox` is the name of the commands' sandbox. If it is empty, `no_sandbox_reason` gives the reason. If commands do
    not run on this machine, `details` describes the container's image and network. `exposed_variables` are the names of
    environment variables with secrets that commands can read because the configuration allows it.
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
        """The sandbox's name if the sandbox keeps the promises of docs/sandbox.md; otherwise empty.

        Only the local environment's sandbox keeps them.
        """
        return self.sandbox if self.environment == LOCAL_ENVIRONMENT else ""


class EnvStopped(Payload):
    """An environment was closed. `leftovers` is the number of processes that had to be killed."""

    kind: Literal["env.stopped"] = "env.stopped"
    environment: str
    leftovers: int = 0
