"""The settings that every redactor of a user is built from: values of variables, and the table `[redaction]`.

Invariant: plain values, so that another process can be told them as JSON; nothing slow is loaded.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, slots=True)
class RedactionOptions:
    """`secrets` are the values of variables by their names; `rules`, `allow` and `disable` are the user's table, `place` names
    its file in errors."""

    secrets: Mapping[str, str] = field(default_factory=dict)
    rules: Sequence[Mapping[str, object]] = ()
    allow: Sequence[str] = ()
    disable: Sequence[str] = ()
    place: str = ""

    def to_json(self) -> str:
        """Return the settings as `from_json` reads them."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "RedactionOptions":
        """Read settings that another process wrote."""
        return cls(**json.loads(text))

    @property
    def table_digest(self) -> str:
        """A name for the user's table, which changes with it; "" where there is none."""
        table = [self.rules, self.allow, self.disable]
        return hashlib.sha256(json.dumps(table).encode()).hexdigest()[:16] if any(table) else ""
