"""L3: the readers of programs' own languages, by the meaning that names them in the catalog.

Invariant: every meaning that is a language has one.
"""

from collections.abc import Mapping
from typing import Final

from tui_agent.policy.interpreter.languages import awk, fd, find, jq, printf, sed, test, xargs
from tui_agent.policy.interpreter.languages.protocol import ArgumentReader, ScriptReader

SCRIPT_READERS: Final[Mapping[str, ScriptReader]] = {
    "awk": awk.read_script,
    "jq": jq.read_script,
    "printf": printf.read_script,
    "sed": sed.read_script,
}
ARGUMENT_READERS: Final[Mapping[str, ArgumentReader]] = {
    "fd": fd.read_arguments,
    "find": find.read_arguments,
    "test": test.read_arguments,
    "xargs": xargs.read_arguments,
}
