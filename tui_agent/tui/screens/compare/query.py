"""A comparison as the command line gives it. Invariant: nothing is read here; what is no comparison is a sentence."""

from pydantic import TypeAdapter, ValidationError

from tui_agent.folds.comparison.fold import Comparison
from tui_agent.tui.cli_client import Ask, json_rows, text_of
from tui_agent.tui.text import clean_line


async def ask_for(ask: Ask, names: tuple[str, ...]) -> Comparison | str:
    """The comparison of these sessions, named as on the command line; or why there is none, in a sentence."""
    status, said = await ask("compare", *names, "--json")
    row = next((row for row in json_rows(said) if "left" in row), None)
    if status or row is None:
        return _sentence(said) or "The sessions could not be compared."
    try:
        return TypeAdapter(Comparison).validate_python(row)
    except ValidationError:
        return "The answer of another version of the program cannot be shown."


async def export(ask: Ask, names: tuple[str, ...], folder: str) -> tuple[bool, str]:
    """Write the comparison as Markdown, into this folder; whether that was done, and where it is or why it is not."""
    status, said = await ask("compare", *names, "--markdown", "--json", "--cwd", folder)
    path = next((text_of(row, "path") for row in json_rows(said)), "")
    if status or not path:
        return False, _sentence(said) or "The comparison could not be exported."
    return True, f"Exported to {clean_line(path)}"


def _sentence(said: str) -> str:
    return clean_line(" ".join(said.split())).removeprefix("tui-agent: ")
