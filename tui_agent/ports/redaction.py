"""The settings of a user's redactor: values of secret variables, and the table `[redaction]`.

Invariant: the settings are plain values that JSON can hold, and the module imports nothing slow.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field

from tui_agent.fast_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class RedactionOptions:
    """The settings of a user's redactor, which removes secrets from texts.

    - `secrets`: values of secret variables by name.
    - `rules`, `allow`, `disable`: values of the user's table `[redaction]`.
    - `config_file`: path of the file with this table, for error messages.
    """

    secrets: Mapping[str, str] = field(default_factory=dict)
    rules: Sequence[Mapping[str, object]] = ()
    allow: Sequence[str] = ()
    disable: Sequence[str] = ()
    config_file: str = ""

    def to_json(self) -> str:
        """Return the settings as JSON for `from_json`."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "RedactionOptions":
        """Return the settings from the JSON text of `to_json`."""
        return cls(**json.loads(text))

    @property
    def table_digest(self) -> str:
        """Return a digest of the user's table `[redaction]`. Empty if there is no such table."""
        table = [self.rules, self.allow, self.disable]
        return hashlib.sha256(json.dumps(table).encode()).hexdigest()[:16] if any(table) else ""
