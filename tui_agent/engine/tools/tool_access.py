"""Access checks: the tools that an agent can call, and the files and hosts that other operations can use.

Invariant: no search, mention or instruction file shows a file that the policy denies reading.
"""

from collections.abc import Sequence

from tui_agent.engine.components import EngineParts
from tui_agent.folds.session.state_view import SessionStateView
from tui_agent.ports.model import ToolSchema
from tui_agent.ports.policy import Decision, Policy, PolicyFacts
from tui_agent.ports.tool import Service
from tui_agent.protocol.effects import McpCallEffect, NetworkEffect, ReadEffect
from tui_agent.protocol.ids import AgentId
from tui_agent.protocol.settings import PolicyName

RULE_TOOL = "read_file"
"""The permission rules for this tool also apply when the engine reads files without a tool call."""


def allowed_tools(parts: EngineParts, agent: AgentId) -> frozenset[str] | None:
    """Return the tools that an agent can call; None means all offered tools."""
    state = parts.recorder.state
    delegate = next((delegate for delegate in state.delegates if delegate.agent == agent), None)
    limits = [delegate.tools if delegate is not None else None, state.allowed_tools]
    sets = [frozenset(names) for names in limits if names is not None]
    return frozenset.intersection(*sets) if sets else None


def offered_tools(
    parts: EngineParts, state: SessionStateView, policy: PolicyName, names: Sequence[str] | None
) -> tuple[ToolSchema, ...]:
    """Return the schemas of the tools that a model can use now.

    - `state`: the agent's state.
    - `names`: the tools to choose from (None: all).
    """
    missing: set[Service] = set(parts.missing_services)
    if not any(not skill.fault for skill in state.skills):
        missing.add("skills")
    if not state.job_count:
        missing.add("started_jobs")
    return parts.tools.schemas(names, policy=policy, missing=missing)


def offered_names(parts: EngineParts, agent: AgentId) -> list[str]:
    """Return the names of the tools that the agent's model can use now."""
    state, allowed = parts.recorder.state_of(agent), allowed_tools(parts, agent)
    policy = "ask" if state.settings is None else state.settings.policy
    tools = offered_tools(parts, state, policy, None if allowed is None else tuple(allowed))
    return [tool.name for tool in tools]


def explain_refusal(parts: EngineParts, agent: AgentId, name: str) -> str:
    """Return why the agent's model cannot call the tool `name` now; empty if it can."""
    tool, state = parts.tools.get(name), parts.recorder.state_of(agent)
    policy = "ask" if state.settings is None else state.settings.policy
    if tool is None:
        return parts.tools.unknown_tool_message(name, offered_names(parts, agent)).message
    if tool.spec.policy not in (None, policy):
        return f"{name} can be called only under the policy {tool.spec.policy}."
    return ""


def may_read(parts: EngineParts, agent: AgentId, tool: str, path: str) -> bool:
    """Return True if the policy does not deny reading `path`. The links in `path` are already resolved."""
    # A file that the policy would ask about may be read: the user has already allowed the whole search.
    real = path if path.startswith("/") else f"{parts.env.root.rstrip('/')}/{path}"
    state, allowed = parts.recorder.state_of(agent), allowed_tools(parts, agent)
    return _decide_read(parts.policy, state, parts.env.root, path, real, allowed, tool).verdict != "deny"


def may_connect(parts: EngineParts, agent: AgentId, tool: str, host: str) -> bool:
    """Return True if the policy does not deny connecting to `host`."""
    # A host that the policy would ask about is allowed: the user has allowed the host that redirects to it.
    state = parts.recorder.state_of(agent)
    facts = PolicyFacts(
        workspace=parts.env.root,
        policy=state.settings.policy if state.settings else "ask",
        session_rules=state.granted_rules,
        allowed_tools=allowed_tools(parts, agent),
    )
    return parts.policy.decide(tool, (NetworkEffect(host=host),), facts).verdict != "deny"


def denial_reason(policy: Policy, state: SessionStateView, root: str, path: str, real: str) -> str:
    """Return the reason why reading a file is denied (empty: allowed). `real`: `path` with links resolved."""
    decision = _decide_read(policy, state, root, path, real, None, RULE_TOOL)
    return decision.reason if decision.verdict == "deny" else ""


def resource_denial_reason(policy: Policy, state: SessionStateView, root: str, server: str, tool: str) -> str:
    """Return the reason why the policy denies reading a server's resource.

    Empty if the policy allows the reading or asks.

    `tool`: the name that permission rules use for the resource.
    """
    # If the policy would ask, reading is allowed, because the user named the resource.
    effect = McpCallEffect(server=server, tool=tool, digest="", read_only=True)
    facts = PolicyFacts(
        workspace=root,
        policy=state.settings.policy if state.settings else "ask",
        session_rules=state.granted_rules,
    )
    decision = policy.decide(tool, (effect,), facts)
    return decision.reason if decision.verdict == "deny" else ""


def _decide_read(
    policy: Policy,
    state: SessionStateView,
    root: str,
    path: str,
    real: str,
    allowed: frozenset[str] | None,
    tool: str,
) -> Decision:
    facts = PolicyFacts(
        workspace=root,
        policy=state.settings.policy if state.settings else "ask",
        resolved={path: real},
        session_rules=state.granted_rules,
        allowed_tools=allowed,
    )
    return policy.decide(tool, (ReadEffect(path=path),), facts)
