"""The published JSON schema of events is the one of the program, and the golden logs fit it."""

import json
from pathlib import Path

import jsonschema
import pytest

from docs import generate_schema

GOLDEN = sorted((Path(__file__).parents[2] / "golden").glob("*.jsonl"))


@pytest.mark.parametrize("name", generate_schema.SCHEMAS)
def test_the_published_schema_is_current(name: str) -> None:
    assert (generate_schema.FOLDER / name).read_text(encoding="utf-8") == generate_schema.schema(name)


@pytest.mark.parametrize(
    "log", [path for path in GOLDEN if path.stem == "every_kind"], ids=lambda path: path.stem
)
def test_every_kind_of_event_fits_the_schema(log: Path) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(generate_schema.schema("event.schema.json")))
    for line in log.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        event.pop("crc")
        assert not list(validator.iter_errors(event)), event["payload"]["kind"]
