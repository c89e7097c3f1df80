"""Write docs/programs.md and docs/program-keys.md: `python -m docs.generate_programs`.

The texts are taken from the policy's catalog and the docstrings of its models. A test checks that the pages are up to date.
"""

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

from tui_agent.policy.catalog.catalog import PROGRAMS, built_in_catalog
from tui_agent.policy.catalog.catalog_entry import Entry
from tui_agent.policy.catalog.catalog_schema import Effect, Model, Option, Program

PAGE = Path(__file__).parent / "programs.md"
KEYS_PAGE = Path(__file__).parent / "program-keys.md"
HEAD = """\
# What the policy knows of programs

<!-- Written by `python -m docs.generate_programs`; do not edit. -->

Each row is one file of `tui_agent/policy/catalog/programs/`, which lists the options that are harmless and says what the
operands are. A command runs unasked under the policy `ask` if its program only reads, every option is listed, and its files
may be read. A program or an option that is not listed is asked about. How to add one: [program-tables.md](program-tables.md).

| program | what it does | effects | runs unasked, for example | is asked about |
|---|---|---|---|---|
"""
KEYS_HEAD = """\
# The keys of a program table

<!-- Written by `python -m docs.generate_programs`; do not edit. -->

An example, and the effects and meanings that these keys take: [program-tables.md](program-tables.md).
"""
EXAMPLES = 2


def entries() -> Iterator[Entry]:
    """Yield every entry of the catalog, each program before its subcommands."""
    catalog = built_in_catalog()
    files = sorted(path.relative_to(PROGRAMS).with_suffix("") for path in PROGRAMS.rglob("*.toml"))
    for file in files:
        entry = catalog.entry(" ".join(file.parts))
        if entry is not None:
            yield entry


def row(entry: Entry) -> str:
    """Return an entry as a row of the table."""
    program = entry.program
    effects = ", ".join(effect for effect in Effect if effect in program.effects)
    cells = (f"`{entry.name}`", program.about, effects, _lines(entry, "allow"), _lines(entry, "ask"))
    return f"| {' | '.join(cells)} |"


def _lines(entry: Entry, decision: str) -> str:
    found = [example.line for example in entry.program.examples if example.decision == decision]
    return "<br>".join(f"`{_cell(line)}`" for line in found[:EXAMPLES])


def _cell(line: str) -> str:
    return line.replace("|", "\\|").replace("\n", "↵")


def programs_page() -> str:
    """Return the text of docs/programs.md."""
    return HEAD + "\n".join(row(entry) for entry in entries()) + "\n"


def keys_of(model: type[Model]) -> Iterator[str]:
    """Yield a list item for each key that the model's docstring describes in a paragraph that begins with the key."""
    text = re.sub(r"\n(?!(?:`\w+`, )*`\w+`:)", " ", inspect.getdoc(model) or "")
    for line in text.split("\n")[1:]:
        field = model.model_fields[line.split("`")[1]]
        default = f" Default: `{field.default}`." if isinstance(field.default, str) and field.default else ""
        yield f"- {line.strip()}{default}"


def keys_page() -> str:
    """Return the text of docs/program-keys.md."""
    parts = [
        KEYS_HEAD,
        "## Keys of a program\n",
        *keys_of(Program),
        "\n## Keys of an option\n",
        *keys_of(Option),
    ]
    return "\n".join(parts) + "\n"


def main() -> None:
    """Write both pages."""
    PAGE.write_text(programs_page(), encoding="utf-8")
    KEYS_PAGE.write_text(keys_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
