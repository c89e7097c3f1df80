"""Access checks: the tools an agent may call, and the files a search may show.

Invariant: a search over a folder shows no file that the policy would refuse to read by name.
"""

from tui_agent.engine.components import EngineParts
from tui_agent.ports.policy import PolicyFacts
from tui_agent.protocol.effects import Reads
from tui_agent.protocol.ids import AgentId


def allowed_tools(parts: EngineParts, agent: AgentId) -> frozenset[str] | None:
    """Return the tools that an agent may call; None: all offered tools."""
    delegates = parts.recorder.state.delegates
    delegate = next((delegate for delegate in delegates if delegate.agent == agent), None)
    return parts.allowed_tools if delegate is None else frozenset(delegate.tools)


def may_read(parts: EngineParts, agent: AgentId, tool: str, path: str) -> bool:
    """Return True unless the policy denies reading `path` (as the environment names it, links followed).

    A file that the policy would only ask about is allowed, because the whole search was allowed.
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
