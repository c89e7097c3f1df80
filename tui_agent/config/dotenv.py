"""Parser for `.env` files; it does not change the process's environment.

Invariant: variables and commands in values are not expanded.
"""

import re

from tui_agent.errors import ConfigError

_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", '"': '"', "\\": "\\", "$": "$"}


def parse_dotenv(text: str, name: str = ".env") -> dict[str, str]:
    """Parse the lines `NAME=value` of a `.env` file.

    Accepts `export`, comments, single quotes, and double quotes with escapes.
    """
    values: dict[str, str] = {}
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise ConfigError(
                f"{name}, line {number}: expected NAME=value.", hint="Correct or remove the line."
            )
        values[match[1]] = _unquote(match[2], f"{name}, line {number}")
    return values


def _unquote(raw: str, where: str) -> str:
    quote = raw[:1]
    if quote not in ("'", '"'):
        return re.split(r"\s#", raw, maxsplit=1)[0].strip()
    unquoted: list[str] = []
    characters = iter(raw[1:])
    for character in characters:
        if character == quote:
            return "".join(unquoted)
        if character == "\\" and quote == '"':
            following = next(characters, "")
            unquoted.append(_ESCAPES.get(following, "\\" + following))
        else:
            unquoted.append(character)
    raise ConfigError(f"{where}: the quote {quote} is not closed.", hint="Close the quote on the same line.")
