"""Events of the environments that run tools."""

from typing import Literal

from tui_agent.protocol.frozen_model import Payload

LOCAL_ENVIRONMENT = "local"
"""Name of the environment that runs commands on this machine."""


class EnvStarted(Payload):
    """An environment is ready.

    `sandbox`: name of the commands' sandbox. `no_sandbox_reason`: reason if there is no sandbox. `details`: image and
    network of the container, if commands run in one. `exposed_variables`: names of secret environment variables that
    the configuration lets commands read.
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
        """The name of the local environment's sandbox (see docs/sandbox.md); empty in other environments."""
        return self.sandbox if self.environment == LOCAL_ENVIRONMENT else ""


class EnvStopped(Payload):
    """An environment was closed. `leftovers`: number of processes that had to be killed."""

    kind: Literal["env.stopped"] = "env.stopped"
    environment: str
    leftovers: int = 0
