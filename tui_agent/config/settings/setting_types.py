"""Types of settings: the base class of a table, and types of checked text.

Invariant: a wrong value is refused with a message that a user understands.
"""

import shlex
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints
from pydantic_core import PydanticCustomError

UserPath: TypeAlias = Annotated[Path, AfterValidator(Path.expanduser)]
"""A path in the configuration. `~` is expanded to the home folder."""
HeaderText: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[\x20-\x7e]*$")]
"""Text that is allowed in an HTTP header."""
VariableName: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
"""The full name of an environment variable."""


def _require_program_words(text: str) -> str:
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise PydanticCustomError("program", "Not a command line: {error}", {"error": str(error)}) from error
    if not words:
        raise PydanticCustomError("program", "A program is missing")
    return text


ProgramWords: TypeAlias = Annotated[str, AfterValidator(_require_program_words)]
"""A program's name and its options in one text, quoted as for a shell: `podman --remote`."""


class Table(BaseModel):
    """A table of a configuration file: frozen, and strict about its keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)
