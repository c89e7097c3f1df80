"""The form to set up another provider: model, URL, API key.

Invariant: the key is shown as dots and leaves the form only as `Provider.key`; nothing is stored here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Final

from textual.strip import Strip

from tui_agent.config.providers import PROVIDERS, key_variable
from tui_agent.tui.actions import Scope
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.field import Field
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
BOX: Final = "Keep the key", "in the key ring, or in a file that only you can read"
KEYS: Final = "provider_line", "provider_tick", "provider_close"
"""The actions whose keys are shown below the form, after Enter."""
MODEL, ADDRESS, KEY = range(3)
"""Indexes of the fields in the form."""
_KEY_PREFIXES: Final = ("sk-", "gsk_", "xai-")


class ProviderForm(ChoiceSheet[Provider | None]):
    """The form: three fields and a checkbox, which Space toggles.

    Enter goes to the next field, and submits on the last one. `variables` maps each model profile to the environment
    variable with its API key.
    """

    scope: ClassVar[Scope] = "provider"
    key_methods = {
        "provider_line": "move",
        "provider_go": "go_on",
        "provider_tick": "tick",
        "provider_close": "close",
    }

    def __init__(
        self,
        looks: Callable[[], Looks],
        *,
        base_url: str = "",
        model: str = "",
        variables: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(looks)
        self.fields = (Field(model), Field(base_url), Field(secret=True))
        self.keeps_key = False
        self.variables = variables
        self.chosen = ADDRESS if base_url else KEY if model and not model.endswith("/") else MODEL
        self.fault = ""

    @property
    def count(self) -> int:
        return len(self.fields) + 1

    def head(self, width: int) -> list[Strip]:
        return self.title_rows(width, "Other provider")

    def body(self, width: int) -> list[Strip]:
        labels = (
            ("Model", "provider/model, as anthropic/claude-sonnet-5-5"),
            ("Address", "leave empty for the provider's own, or http://localhost:8000/v1"),
            (
                key_variable(self.vendor) if self.fields[MODEL].text else "Key",
                "not shown; leave empty to use the environment variable",
            ),
        )
        cursor = self.pen._replace(ground="t1").style("s2")
        rows: list[Strip] = []
        for number, ((label, hint), typed) in enumerate(zip(labels, self.fields, strict=True)):
            pen = self.choice_pen(number, "s2")
            value = typed.parts(
                max(6, width - 26), pen.style(), cursor if pen.chosen else None, hint, pen.style("t3")
            )
            rows.append(pen.line(width, [pen.mark, pen.part(label[:21].ljust(22), "t2"), *value]))
        rows.append(self.line(width, []))
        pen = self.choice_pen(len(self.fields), "s2")
        box = f"[{'x' if self.keeps_key else ' '}] {BOX[0]}".ljust(22)
        rows.append(pen.line(width, [pen.mark, pen.part(box, "t2"), pen.part(BOX[1], "t3")]))
        if self.fault:
            rows += [self.line(width, []), self.line(width, [self.part(self.fault, "warning")])]
        return rows

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
        first = self.key_map.hint("provider_go", "next field" if self.chosen < KEY else "use it")
        others = [self.key_map.hint(action) for action in KEYS]
        return [*self.spacer(width), self.keys_line(width, [first, *others])]

    @property
    def open_field(self) -> Field | None:
        return self.fields[self.chosen] if self.chosen < len(self.fields) else None

    def on_edit(self) -> None:
        self.fault = ""
        self.redraw()

    def go_on(self) -> None:
        """Go to the next field; on the last field, submit the form."""
        if self.chosen < KEY:
            self.move(1)
        else:
            self._submit()

    def tick(self) -> bool:
        """Toggle the checkbox if it is selected; return False on a field."""
        if self.open_field is None:
            self.keeps_key = not self.keeps_key
            self.redraw()
        return self.open_field is None

    def use(self) -> None:
        self.tick()

    def _submit(self) -> None:
        model, key = self.fields[MODEL].text.strip(), self.fields[KEY].text.strip()
        address = self._address
        if not model:
            self._show_fault(MODEL, "Enter the name of a model.")
        elif address and not address.startswith(("http://", "https://")):
            self._show_fault(ADDRESS, "An address starts with http:// or https://.")
        elif " " in model or model.lower().startswith(_KEY_PREFIXES) or model.endswith("/"):
            text = "This is not a model's name: type provider/model, or a profile. The key goes below."
            self._show_fault(MODEL, text)
        elif self.keeps_key and not key:
            self._show_fault(KEY, "Enter a key first, or untick “Keep the key”.")
        else:
            self.dismiss(Provider(model, address, self.vendor, key, self.keeps_key))

    def _show_fault(self, number: int, text: str) -> None:
        self.chosen, self.fault = number, text
        self.redraw()
