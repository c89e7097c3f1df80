"""The form to set up a model: its name, its address, its API key, and whether to save the key.

Invariant: the key is shown as dots, and leaves the form only as `Provider.key`.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import field
from types import MappingProxyType
from typing import Final

from textual.strip import Strip

from tui_agent.config.settings.base_url import is_web_address, normalise_url
from tui_agent.config.settings.providers import EXAMPLE_MODEL, PROVIDERS, key_variable
from tui_agent.errors import ConfigError
from tui_agent.fast_dataclass import dataclass
from tui_agent.tui.keys_and_commands import KeyHint
from tui_agent.tui.panes.model_discovery import vendor_title
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.form import Form
from tui_agent.tui.widgets.rows import Pen


@dataclass(frozen=True, slots=True)
class Provider:
    """The values of the form for a provider.

    `vendor`: the vendor of the API key, or the environment variable with the key.
    """

    model: str
    base_url: str
    vendor: str
    key: str = field(repr=False)
    keep_key: bool = False
    """True to store the key."""


OWN_SERVER: Final = "TUI_AGENT_API_KEY"
"""The environment variable for the API key if the URL belongs to no known vendor."""
MODEL, ADDRESS, KEY, SAVE = "Model", "Address", "Key", "Save"
"""The lines of the form: three fields, and the checkbox `SAVE`."""
_MIN_LOOSE_SCREEN_ROWS: Final = 24
"""Minimum screen height, in rows, for empty rows and notes between the lines."""
_KEY_PREFIXES: Final = ("sk-", "gsk_", "xai-")
"""Beginnings of API keys. A key typed into the field of the model is refused: a model's name is shown and recorded."""


class ProviderForm(Form[Provider | None]):
    """The form for setting up a model: three fields and a checkbox.

    Enter on the last line calls `test`. If `test` finds a fault, a second Enter accepts the values anyway.

    - `variables`: for each model profile, the environment variable with its API key
    - `keys`: the environment variables that are set
    """

    scope = "provider"
    tight_below = 26

    def __init__(
        self,
        test: Callable[[Provider], object],
        *,
        base_url: str = "",
        model: str = "",
        variables: Mapping[str, str] = MappingProxyType({}),
        keys: Set[str] = frozenset(),
        key_file: str = "",
    ) -> None:
        super().__init__()
        self._test, self._keys, self._key_file = test, keys, key_file
        self.fields = {MODEL: Field(model), ADDRESS: Field(base_url), KEY: Field(secret=True)}
        self.keeps_key = False
        self.variables = variables
        self._begins_with_address = bool(base_url)
        vendor = model.partition("/")[0].lower()
        name = "your own server" if base_url else vendor_title(vendor) if vendor in PROVIDERS else "a model"
        self.title_text = f"Set up {name}"
        is_named = model and not model.endswith("/")
        self.chosen = self.lines.index(KEY) if is_named and not base_url else 0
        self.answer = ""
        """A description of the model's answer to the test request; empty if the model was not tested."""
        self.tested: Provider | None = None
        """The values of a running test or of the last failed test; otherwise None."""

    @property
    def lines(self) -> Sequence[str]:
        first = (ADDRESS, MODEL) if self._begins_with_address else (MODEL, ADDRESS)
        return (*first, KEY, SAVE)

    @property
    def is_testing(self) -> bool:
        """True while the answer to the test request is awaited."""
        return self.tested is not None and not self.fault

    def gap_before(self, line: str, width: int) -> list[Strip]:
        return [self.line(width, [])] if self._is_loose else []

    @property
    def _is_loose(self) -> bool:
        return self.app.size.height >= _MIN_LOOSE_SCREEN_ROWS

    def line_rows(self, line: str, pen: Pen, width: int) -> list[Strip]:
        field = self.fields.get(line)
        if field is None:
            box = f"[{'x' if self.keeps_key else ' '}] Save the key for later starts"
            value = pen.part(box, "t1" if pen.chosen else "t2", bold=pen.chosen)
            row = pen.line(width, [*self.label(pen, ""), value])
        else:
            row = self.field_row(line, field, pen, width, self._example(line))
        is_explained = self._is_loose or pen.chosen
        return [row, *(self.note_rows(self._purpose(line), width) if is_explained else [])]

    def _example(self, line: str) -> str:
        if line == MODEL:
            return "the model's name" if self._address else "provider/model"
        if line == ADDRESS:
            return self._default_address or "http://localhost:8000/v1"
        return f"{self._variable} is set" if self._has_key else ""

    def _purpose(self, line: str) -> str:
        """Return a note about the line's purpose, which also says if the line needs a value."""
        vendor = PROVIDERS.get(self.vendor)
        if line == MODEL and self.vendor == OWN_SERVER:
            return "Required: the model's name, such as qwen3-coder"
        if line == MODEL:
            model = (
                f"{vendor.name}/{vendor.suggested_models[-1]}" if vendor and vendor.suggested_models else ""
            )
            return f"Required, such as {model or EXAMPLE_MODEL}"
        if line == ADDRESS:
            if self._begins_with_address:
                return "Required, such as http://localhost:8000/v1"
            return "Only for your own server or a proxy"
        if line == KEY:
            return f"{self._need_of_key} The key is never shown."
        if self.keeps_key:
            return f"Saved in the system's key ring or, without one, in {self._key_file}"
        return "Not saved: the key is forgotten when you quit."

    @property
    def _need_of_key(self) -> str:
        if self._has_key:
            return f"Leave it empty to use {self._variable}."
        vendor = PROVIDERS.get(self.vendor)
        if self.vendor == OWN_SERVER or (vendor is not None and not vendor.key_variables):
            return "Only if the server asks for a key."
        return "Required."

    @property
    def _variable(self) -> str:
        return key_variable(self.vendor)

    @property
    def _has_key(self) -> bool:
        vendor = PROVIDERS.get(self.vendor)
        names = vendor.key_variables if vendor is not None else (self._variable,)
        return bool(self.fields[MODEL].text.strip()) and any(name in self._keys for name in names)

    @property
    def _default_address(self) -> str:
        vendor = PROVIDERS.get(self.vendor)
        return (vendor.base_url or "the provider's own") if vendor is not None else ""

    @property
    def _address(self) -> str:
        return self.fields[ADDRESS].text.strip()

    @property
    def vendor(self) -> str:
        """The vendor of the API key, or the environment variable with the key."""
        name = self.fields[MODEL].text.strip()
        if name in self.variables:
            return self.variables[name]
        vendor, slash, _ = name.lower().partition("/")
        address = self._address
        if slash and (vendor in PROVIDERS or not address):
            return vendor
        # A model's name without a vendor is a name of OpenAI, unless there is an address.
        return OWN_SERVER if address else "openai"

    def foot(self, width: int) -> list[Strip]:
        testing = self.text_rows(width, "Testing with one short request …", "t2") if self.is_testing else []
        return [*(self.spacer(width) if testing else []), *testing, *super().foot(width)]

    def key_hints(self) -> Sequence[KeyHint]:
        back, move = self.key_map.hint("provider_close"), self.key_map.hint("provider_line")
        if self.is_testing:
            return [back]
        word = "use it anyway" if self.tested else "test and use it" if self._is_last else "next"
        tick = [self.key_map.hint("provider_tick")] if self.open_field is None else []
        return [self.key_map.hint("provider_go", word), *tick, move, back]

    @property
    def _is_last(self) -> bool:
        """True if Enter submits the form: on the checkbox or on an empty key field."""
        return self.line_name == SAVE or (self.line_name == KEY and not self.fields[KEY].text)

    @property
    def open_field(self) -> Field | None:
        return self.fields.get(self.line_name)

    def on_edit(self) -> None:
        self.fault, self.tested = "", None  # Changed values must be tested again.
        self._drop_given_scheme()
        self.redraw()

    def _drop_given_scheme(self) -> None:
        """Remove the preset `http://` if the user types or pastes a whole URL."""
        address = self.fields[ADDRESS]
        rest = address.text.removeprefix("http://")
        if rest != address.text and is_web_address(rest):
            address.cursor = max(0, address.cursor - len(address.text) + len(rest))
            address.text = rest

    def go_on(self) -> None:
        """Go to the next line; on the last line, submit the form."""
        if self.is_testing:
            return
        if self._is_last or self.tested:
            self._submit()
        else:
            self.move(1)

    def tick(self) -> bool:
        """Toggle the checkbox if it is selected; return False on a field."""
        if self.open_field is None:
            self.keeps_key = not self.keeps_key
            self.on_edit()
        return self.open_field is None

    def use(self) -> None:
        self.tick()

    def _submit(self) -> None:
        model, key = self.fields[MODEL].text.strip(), self.fields[KEY].text.strip()
        address = self._address
        if not model:
            self.show_fault(MODEL, "Enter the name of a model.")
        elif address_fault := _address_fault(address):
            self.show_fault(ADDRESS, address_fault)
        elif " " in model or model.lower().startswith(_KEY_PREFIXES) or model.endswith("/"):
            text = "This is not a model name. Enter provider/model or a profile name, and the key in its own field."
            self.show_fault(MODEL, text)
        elif self.keeps_key and not key:
            self.show_fault(KEY, "Enter a key first, or untick the box.")
        else:
            provider = Provider(model, address, self.vendor, key, self.keeps_key)
            if provider == self.tested:
                self.dismiss(provider)
                return
            self.fault, self.tested = "", provider
            self.redraw()
            self._test(provider)


def _address_fault(address: str) -> str:
    """Return the reason why a typed address cannot be used; empty if there is none."""
    if not address:
        return ""
    if not is_web_address(address):
        return "An address starts with http:// or https://."
    try:
        normalise_url(address)
    except ConfigError as fault:
        return str(fault)
    return ""
