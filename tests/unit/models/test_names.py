"""A key that was pasted where a name belongs is refused, and the refusal does not repeat it."""

import pytest

from tests.unit.models.test_factory import factory
from tui_agent.config.settings.providers import PROVIDERS
from tui_agent.errors import ConfigError
from tui_agent.models import model_facts
from tui_agent.models.routes import looks_secret

SECRETS = [
    "sk-ant-" + "a1B2" * 6,
    "sk-proj-short1",
    "gsk_" + "Ab3" * 12,
    "xai-" + "Ab3" * 12,
    "AIza" + "x" * 35,
    "anthropic/sk-ant-api03-zzzz1111",
    "Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZg",
    "0123456789abcdef" * 4,
    "two words",
    "x" * 201,
    "line\nbreak",
]


@pytest.mark.parametrize("text", SECRETS)
def test_what_is_no_name_is_refused_without_being_repeated(text: str) -> None:
    with pytest.raises(ConfigError) as refused:
        factory().resolve(text)
    assert text not in str(refused.value)
    assert "not stored" in refused.value.message


def test_every_name_that_is_known_has_the_shape_of_a_name() -> None:
    known = [
        *model_facts.price_map(),
        *(f"{v.name}/{m}" for v in PROVIDERS.values() for m in v.suggested_models),
    ]
    assert [name for name in known if looks_secret(name)] == []


def test_an_unknown_name_is_told_with_what_is_near() -> None:
    with pytest.raises(ConfigError) as refused:
        factory().resolve("fsat")
    assert str(refused.value) == "Unknown model 'fsat'. Did you mean fast?"
