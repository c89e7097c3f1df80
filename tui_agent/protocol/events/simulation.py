"""Events of simulated users."""

from typing import Literal, TypeAlias

from tui_agent.protocol.frozen_model import Payload
from tui_agent.protocol.stored_text import LongText

SimulationRole: TypeAlias = Literal["user", "agent", "environment", "orchestrator", "system"]
Viewer: TypeAlias = Literal["user", "agent", "orchestrator", "system"]


class SimulationMessage(Payload):
    """A message of a simulation, and the viewers that see it.

    `reasoning`: shown only to its author. `action`: a command of the simulated user, or the agent's calls. `response`:
    what the author says, or the output of a command.
    """

    kind: Literal["simulation.message"] = "simulation.message"
    role: SimulationRole
    visible_to: tuple[Viewer, ...]
    reasoning: LongText = ""
    action: LongText = ""
    response: LongText = ""
