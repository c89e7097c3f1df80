"""Effects in words, in their fixed order: Reads, Writes, Network, Undo, Asked.

Invariant: pure; paths and hosts stand whole, with hidden characters shown; what is not known is said to be not known.
"""

from collections.abc import Sequence

from tui_agent.protocol.effects import Connects, Effect, Reads, Runs, Writes
from tui_agent.protocol.events.policy import DeedEffect, PermissionRequested
from tui_agent.protocol.unicode_text import counted
from tui_agent.tui.text import named

_CHANGES = frozenset({"writes", "deletes", "removes"})
"""The words of effects that are about files; logs of old sessions have `removes`."""


def question_of(request: PermissionRequested) -> str:
    """The question in three words."""
    effects = request.effects
    if any(isinstance(one, Runs) for one in effects):
        return "Run a command?"
    writes = [one for one in effects if isinstance(one, Writes)]
    if writes:
        if all(one.removes for one in writes):
            return "Remove a file?"
        what = "a file" if len({one.path for one in writes}) == 1 else "some files"
        return f"Create {what}?" if all(one.creates for one in writes) else f"Change {what}?"
    if any(isinstance(one, Connects) for one in effects):
        return "Use the network?"
    if any(isinstance(one, Reads) for one in effects):
        return "Read a file?"
    return f"Use {named(request.tool)[:60]}?"


def effect_lines(request: PermissionRequested, policy: str, workspace: str) -> list[tuple[str, str]]:
    """Label and sentence of every row. Where commands run, their rows (`deed_lines`) say what is read and written."""
    effects = request.effects
    if request.deeds:
        return [("Undo", _undo(request, workspace, unknown=True)), ("Asked", _asked(request.reason, policy))]
    runs = any(isinstance(one, Runs) for one in effects)
    unknown = runs or not effects
    return [
        ("Reads", _reads(effects, unknown)),
        ("Writes", _writes(effects, unknown, workspace)),
        ("Network", _network(effects, unknown)),
        ("Undo", _undo(request, workspace, unknown)),
        ("Asked", _asked(request.reason, policy)),
    ]


def deed_lines(request: PermissionRequested) -> list[tuple[str, tuple[DeedEffect, ...]]]:
    """Every command with its effects, cleaned."""
    return [
        (
            named(deed.what),
            tuple(
                one.model_copy(update={"word": named(one.word), "about": named(one.about)})
                for one in deed.effects
            )
            or (DeedEffect(word="only reads"),),
        )
        for deed in request.deeds
    ]


def _reads(effects: Sequence[Effect], unknown: bool) -> str:
    paths = [named(one.path) + ("/**" if one.deep else "") for one in effects if isinstance(one, Reads)]
    if paths:
        return ", ".join(dict.fromkeys(paths))
    return "not known" if unknown else "nothing new"


def _writes(effects: Sequence[Effect], unknown: bool, workspace: str) -> str:
    said: list[str] = []
    for one in effects:
        if isinstance(one, Writes):
            how = ", removed" if one.removes else ", a new file" if one.creates else ""
            outside = "" if _inside(one.path, workspace) else ", outside this workspace"
            said.append(named(one.path) + how + outside)
    if said:
        return "; ".join(dict.fromkeys(said))
    return "not known" if unknown else "nothing"


def _network(effects: Sequence[Effect], unknown: bool) -> str:
    hosts = [named(one.host) for one in effects if isinstance(one, Connects)]
    if hosts:
        return ", ".join(dict.fromkeys(hosts))
    return "not held off: it can use it" if unknown else "none"


def _undo(request: PermissionRequested, workspace: str, unknown: bool) -> str:
    effects = request.effects
    written = [one.path for one in effects if isinstance(one, Writes)]
    told = (one.about for deed in request.deeds for one in deed.effects if one.word in _CHANGES)
    written += [path for about in told for path in about.split(", ")]
    if not all(_inside(path, workspace) for path in written):
        return "/undo puts nothing outside this workspace back"
    if unknown:
        return "/undo puts its files back, nothing else that it does"
    changed = {one.path for one in effects if isinstance(one, Writes)}
    if changed:
        return f"/undo puts {counted(len(changed), 'file')} back; /diff shows what changed"
    if any(isinstance(one, Connects) for one in effects):
        return "/undo does not reach what it does elsewhere"
    return "nothing to undo"


def _asked(reason: str, policy: str) -> str:
    said = named(reason).strip().removesuffix(".")
    if not said:
        return f"because policy {policy} wants a yes"
    return said if said.startswith("because") else f"because {said[:1].lower()}{said[1:]}"


def _inside(path: str, workspace: str) -> bool:
    return not path.startswith(("/", "~", "..")) or (
        bool(workspace) and path.startswith(workspace.rstrip("/") + "/")
    )
