"""The form to set up a model: its name, its address, its API key, and whether to save the key.

Invariant: the key is shown as dots and leaves the form only as `Provider.key`; nothing is stored here.
"""

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final

from textual.strip import Strip

from tui_agent.config.providers import PROVIDERS, key_variable
from tui_agent.tui.actions import KeyHint, Scope
from tui_agent.tui.panes.model_discovery import pretty
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import cells
from tui_agent.tui.widgets.sheet import ChoiceSheet


@dataclass(frozen=True, slots=True)
class Provider:
    """The values of the form for a provider.

    `vendor` is the vendor of the API key, or the name of the environment variable with the key.
    """

    model: str
    base_url: str
    vendor: str
    key: str = field(repr=False)
    keep_key: bool = False
    """True to store the key."""


OWN_SERVER: Final = "TUI_AGENT_API_KEY"
"""The key's variable for a URL that belongs to no known vendor."""
MODEL, ADDRESS, KEY, SAVE = range(4)
"""The lines of the form, each a field; `SAVE` is the checkbox."""
_LABEL_CELLS: Final = 12
"""Cells before the text of a field."""
_LOOSE_FROM: Final = 24
"""Rows of the screen from which the form says what each line is for, with space between the lines."""
_MAX_FIELD_CELLS: Final = 64
_KEY_PREFIXES: Final = ("sk-", "gsk_", "xai-")


class ProviderForm(ChoiceSheet[Provider | None]):
    """The form: three fields and a checkbox, which Space toggles.

    Enter goes to the next line. On the last one it calls `test` with the values, which shows a fault or dismisses the
    form. After a fault, Enter uses the unchanged values all the same. `variables` maps each model profile to the
    environment variable with its API key, and `keys` are the variables that are set.
    """

    scope: ClassVar[Scope] = "provider"
    tight_below = 26
    key_methods = {
        "provider_line": "move",
        "provider_go": "go_on",
        "provider_tick": "tick",
        "provider_close": "close",
    }

    def __init__(
        self,
        looks: Callable[[], Looks],
        test: Callable[[Provider], object],
        *,
        base_url: str = "",
        model: str = "",
        variables: Mapping[str, str] = MappingProxyType({}),
        keys: Set[str] = frozenset(),
        key_file: str = "",
    ) -> None:
        super().__init__(looks)
        self._test, self._keys, self._key_file = test, keys, key_file
        self.fields = (Field(model), Field(base_url), Field(secret=True))
        self.keeps_key = False
        self.variables = variables
        self.lines = (ADDRESS, MODEL, KEY, SAVE) if base_url else (MODEL, ADDRESS, KEY, SAVE)
        vendor = model.partition("/")[0].lower()
        name = "your own server" if base_url else pretty(vendor) if vendor in PROVIDERS else "a model"
        self._title = f"Set up {name}"
        is_named = model and not model.endswith("/")
        self.chosen = self.lines.index(KEY) if is_named and not base_url else 0
        self.fault = ""
        self.answer = ""
        """The words about the model's answer to the test request; empty if it was not tested."""
        self.tested: Provider | None = None
        """The values that are being tested, or that the test found a fault with."""

    @property
    def count(self) -> int:
        return len(self.lines)

    @property
    def is_testing(self) -> bool:
        """True while the answer to the test request is awaited."""
        return self.tested is not None and not self.fault

    def head(self, width: int) -> list[Strip]:
        return self.title_rows(width, self._title)

    def body(self, width: int) -> list[Strip]:
        rows: list[Strip] = []
        is_loose = self.app.size.height >= _LOOSE_FROM
        for number, line in enumerate(self.lines):
            rows += [self.line(width, [])] * (is_loose and number > 0)
            rows += [self._checkbox(width, number) if line == SAVE else self._field(width, number, line)]
            if is_loose or number == self.chosen:
                rows += self.text_rows(width, self._purpose(line), "t3", indent=_LABEL_CELLS)
        return rows

    def _field(self, width: int, number: int, line: int) -> Strip:
        pen, well = self.choice_pen(number, "s3"), self.pen._replace(ground="s0", intent=f"choose {number}")
        label, example = {
            MODEL: ("Model", "provider/model" if not self._address else "the name on that server"),
            ADDRESS: ("Address", self._default_address or "http://localhost:8000/v1"),
            KEY: ("Key", f"{self._variable} is set" if self._has_key else ""),
        }[line]
        cursor = self.pen._replace(ground="t1").style("s2") if pen.chosen else None
        room = max(6, min(_MAX_FIELD_CELLS, width - _LABEL_CELLS - 1))
        value = self.fields[line].parts(room, well.style(), cursor, example, well.style("t3"))
        rest = " " * (room + 1 - cells(value))
        name = pen.part(label.ljust(_LABEL_CELLS - 3), "t1" if pen.chosen else "t2", bold=pen.chosen)
        return pen.line(width, [pen.mark, name, well.part(" "), *value, well.part(rest)])

    def _checkbox(self, width: int, number: int) -> Strip:
        pen = self.choice_pen(number, "s3")
        words = f"[{'x' if self.keeps_key else ' '}] Save the key for later starts"
        indent = pen.part(" " * (_LABEL_CELLS - 2))
        return pen.line(
            width, [pen.mark, indent, pen.part(words, "t1" if pen.chosen else "t2", bold=pen.chosen)]
        )

    def _purpose(self, line: int) -> str:
        """Return what the line is for, and whether it is needed."""
        vendor = PROVIDERS.get(self.vendor)
        if line == MODEL and self.vendor == OWN_SERVER:
            return "Required: its name on that server, such as qwen3-coder"
        if line == MODEL:
            model = (
                f"{vendor.name}/{vendor.suggested_models[-1]}" if vendor and vendor.suggested_models else ""
            )
            return f"Required, such as {model or 'anthropic/claude-sonnet-5-5'}"
        if line == ADDRESS:
            if self.lines[0] == ADDRESS:
                return "Required, such as http://localhost:8000/v1"
            return "Only for your own server or a proxy"
        if line == KEY:
            return f"{self._need_of_key} Never shown."
        if self.keeps_key:
            return f"In the system's key ring; without one, in {self._key_file}"
        return "Not saved: the key is forgotten when you quit."

    @property
    def _need_of_key(self) -> str:
        if self._has_key:
            return f"Leave it empty to use {self._variable}."
        vendor = PROVIDERS.get(self.vendor)
        if self.vendor == OWN_SERVER or (vendor is not None and not vendor.key_variables):
            return "Only if the server asks for one."
        return "Required."

    @property
    def _variable(self) -> str:
        """The environment variable that holds the key."""
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
        """The typed address. The field begins with `http://`, so a pasted address may have a second `http://`."""
        address = self.fields[ADDRESS].text.strip()
        rest = address.removeprefix("http://")
        return rest if rest.startswith(("http://", "https://")) else address

    @property
    def vendor(self) -> str:
        """The vendor that gets the API key.

        For a profile or the user's own server, the name of the environment variable with the key.
        """
        name = self.fields[MODEL].text.strip()
        if name in self.variables:
            return self.variables[name]
        vendor, slash, _ = name.lower().partition("/")
        address = self._address
        if slash and (vendor in PROVIDERS or not address):
            return vendor
        return OWN_SERVER if address else "openai"

    def foot(self, width: int) -> list[Strip]:
        status: list[Strip] = []
        if self.is_testing:
            status = self.text_rows(width, "Testing with one short request …", "t2")
        elif self.fault:
            status = self.text_rows(width, self.fault, "warning")
        gap = self.spacer(width) if status else []
        return [*gap, *status, *self.keys_rows(width)]

    def key_hints(self) -> Sequence[KeyHint]:
        back, move = self.key_map.hint("provider_close"), self.key_map.hint("provider_line")
        if self.is_testing:
            return [back]
        word = "use it anyway" if self.tested else "test and use it" if self._is_last else "next"
        tick = [self.key_map.hint("provider_tick")] if self.open_field is None else []
        return [self.key_map.hint("provider_go", word), *tick, move, back]

    @property
    def _is_last(self) -> bool:
        """True if Enter submits: on the checkbox, and on an empty key, which there is nothing to save of."""
        line = self.lines[self.chosen]
        return line == SAVE or (line == KEY and not self.fields[KEY].text)

    @property
    def open_field(self) -> Field | None:
        line = self.lines[self.chosen]
        return None if line == SAVE else self.fields[line]

    def on_edit(self) -> None:
        self.fault, self.tested = "", None
        self.redraw()

    def go_on(self) -> None:
        """Go to the next line; on the last one, submit the form."""
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
        elif address and not address.startswith(("http://", "https://")):
            self.show_fault(ADDRESS, "An address starts with http:// or https://.")
        elif " " in model or model.lower().startswith(_KEY_PREFIXES) or model.endswith("/"):
            text = "This is not a model's name: type provider/model, or a profile. The key goes below."
            self.show_fault(MODEL, text)
        elif self.keeps_key and not key:
            self.show_fault(KEY, "Enter a key first, or clear the box.")
        else:
            given = Provider(model, address, self.vendor, key, self.keeps_key)
            if given == self.tested:
                self.dismiss(given)
                return
            self.fault, self.tested = "", given
            self.redraw()
            self._test(given)

    def show_fault(self, line: int, text: str) -> None:
        """Show what is wrong with a line, and select the line."""
        self.chosen, self.fault = self.lines.index(line), text
        self.redraw()
