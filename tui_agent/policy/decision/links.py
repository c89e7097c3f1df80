"""Search for files that a command reaches through a symbolic link without naming them. The user is asked about these.

Invariant: a folder that was not searched is assumed to contain links.
"""

from tui_agent.policy.decision.line_uses import Uses
from tui_agent.policy.decision.path_patterns import matches_path
from tui_agent.policy.interpreter.report import Certainty, CommandReport, FileUse
from tui_agent.policy.places.paths import place
from tui_agent.ports.environment import WorkspaceLink
from tui_agent.ports.policy import PolicyFacts


def follows_link(command: CommandReport, uses: Uses, facts: PolicyFacts) -> str:
    """Return a reason to ask if a command can reach secret or outside files through a link. Empty if there is none."""
    for use, path in uses:
        relative = place(path, facts).relative
        follows = use.follows_links and use.below
        if use.action == "mention" or not (follows or use.certainty is Certainty.BOUNDED):
            continue
        if relative is None:
            return f"{path} was not searched for links"
        for link in facts.links:
            reason = _link_reason(link, relative, use, follows, facts)
            if reason:
                return reason
        for folder in facts.unscanned:
            if goes_below(relative, folder, use):
                return f"{folder or 'this folder'} was not searched for links"
    return ""


def _link_reason(link: WorkspaceLink, relative: str, use: FileUse, follows: bool, facts: PolicyFacts) -> str:
    through = goes_below(relative, link.name, use)
    if not through and not _ends_at(relative, link.name, use):
        return ""
    inside = place(link.target, facts).relative
    if inside is None:
        return f"{link.name} is a link to {link.target}, outside this workspace"
    if link.secret:
        return f"{link.name} is a link to {inside}, which may hold secrets"
    # There may be further links in a folder that a link leads to.
    pattern = use.certainty is Certainty.BOUNDED
    base = "" if pattern else relative
    elsewhere = follows and bool(base) and not f"{inside}/".startswith(f"{base}/")
    if elsewhere or (pattern and through and "**" not in relative.split("/")):
        return f"it reaches files through the link {link.name}"
    return ""


def _ends_at(relative: str, name: str, use: FileUse) -> bool:
    """Return True if the path or pattern `relative` can name the link `name`, or a folder above the link."""
    if use.certainty is Certainty.BOUNDED:
        return matches_path(relative, name, below=use.below)
    return relative == "" or f"{name}/".startswith(f"{relative}/")


def goes_below(relative: str, folder: str, use: FileUse) -> bool:
    """Return True if using the path or pattern `relative` can reach files below a folder."""
    if use.certainty is not Certainty.BOUNDED:
        return (
            relative == ""
            or not folder
            or f"{folder}/".startswith(f"{relative}/")
            or f"{relative}/".startswith(f"{folder}/")
        )
    shapes, names = relative.split("/"), folder.split("/") if folder else []
    if "**" in shapes:
        return not folder or matches_path(relative, f"{folder}/any")
    if len(shapes) > len(names):
        return not names or matches_path("/".join(shapes[: len(names)]), folder)
    return use.below and matches_path(relative, "/".join(names[: len(shapes)]))
