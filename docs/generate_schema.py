"""Writes the JSON schemas of an event and of an evaluation case or suite: python -m docs.generate_schema."""

import json
from pathlib import Path

from pydantic import BaseModel

from tui_agent.evals.cases.case import Case, Suite
from tui_agent.protocol.envelope import Envelope

FOLDER = Path(__file__).parent / "schema"
SCHEMAS: dict[str, type[BaseModel]] = {
    "event.schema.json": Envelope,
    "case.schema.json": Case,
    "suite.schema.json": Suite,
}
"""The published schemas by file name: an event as `run --json` prints it, a case, a suite."""


def schema(name: str) -> str:
    """Return a schema as JSON text."""
    mode = "serialization" if name == "event.schema.json" else "validation"
    model = SCHEMAS[name].model_json_schema(mode=mode)
    draft = {"$schema": "https://json-schema.org/draft/2020-12/schema", **model}
    return json.dumps(draft, indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the files."""
    FOLDER.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (FOLDER / name).write_text(schema(name), encoding="utf-8")


if __name__ == "__main__":
    main()
