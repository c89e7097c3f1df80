"""Which tools an agent may call, and which of the files that a search comes upon its call may read.

Invariant: a search over a folder shows nothing that reading the file by its name would be refused for.
"""

from tui_agent.engine.components import EngineParts
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Reads
from tui_agent.protocol.ids import AgentId


def allowed_tools(parts: EngineParts, agent: AgentId) -> frozenset[str] | None:
    """The tools that an agent may call; None: all that are offered."""
    one = next((each for each in parts.recorder.state.delegates if each.agent == agent), None)
    return parts.allowed_tools if one is None else frozenset(one.tools)


def may_read(parts: EngineParts, agent: AgentId, tool: str, path: str) -> bool:
    """Whether nothing stands against reading the file `path`, named as the environment names it (links followed).

    What only would be asked about is allowed: the whole search was.
    """
    state = parts.recorder.state_of(agent)
    real = path if path.startswith("/") else f"{parts.env.root.rstrip('/')}/{path}"
    facts = PolicyFacts(
        workspace=parts.env.root,
        policy=state.settings.policy if state.settings else "ask",
        resolved={path: real},
        granted=state.granted,
        allowed_tools=allowed_tools(parts, agent),
    )
    return parts.policy.decide(tool, (Reads(path=path),), facts).verdict != "deny"
