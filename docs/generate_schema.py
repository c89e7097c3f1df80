"""Writes the JSON schema of an event, as `run --json` prints it and the log stores it: python -m docs.generate_schema."""

import json
from pathlib import Path

from tui_agent.protocol.envelope import Envelope

PAGE = Path(__file__).parent / "schema" / "event.schema.json"


def schema() -> str:
    """Return the schema as JSON text."""
    model = Envelope.model_json_schema(mode="serialization")
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model}
    return json.dumps(draft, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the file."""
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(schema(), encoding="utf-8")


if __name__ == "__main__":
    main()
