"""Parser for JSON from models, plugins, servers, files and users.

Invariant: this module imports nothing else from `tui_agent`.
"""

import json
from typing import Any


def parse_json(text: str | bytes) -> Any:
    """Return the value in a JSON text.

    Raise `ValueError` if the text is not valid JSON, or if its values are nested too deeply. `json.loads` raises
    `RecursionError` for the latter, which is easily forgotten.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("values are nested too deeply") from error
