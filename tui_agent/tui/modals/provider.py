"""A provider typed in: address, model, key.

Invariant: the key is shown as dots and leaves this form only as `Provider.key`; nothing is stored here.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar

from textual import events
from textual.strip import Strip

from tui_agent.config.providers import PROVIDERS, key_variable
from tui_agent.tui.actions import Scope
from tui_agent.tui.theme.palette import Looks
from tui_agent.tui.widgets.field import Field
from tui_agent.tui.widgets.rows import Pen, part
from tui_agent.tui.widgets.sheet import Sheet


@dataclass(frozen=True, slots=True)
class Provider:
    """What was typed in. `vendor` is whose key it is: a vendor's name, or a variable's.

    `keep_key`: store the key; `keep_model`: start with the model from now on.
    """

    model: str
    base_url: str
    vendor: str
    key: str = field(repr=False)
    keep_key: bool = False
    keep_model: bool = False


OWN_SERVER = "TUI_AGENT_API_KEY"
"""The variable of a key for an address that is no vendor's."""


KEEP = (
    ("Keep the key", "in the key ring, or in a file that only you can read"),
    ("Keep the model", "tui-agent starts with it from now on: config.toml"),
)


KEYS = "provider_go", "provider_line", "provider_tick", "provider_close"
"""Actions below the form."""


class ProviderForm(Sheet[Provider | None]):
    """Three fields and two boxes that Space ticks; Enter goes on to the next field, and uses them from the last.

    `variables`: by a profile's name the variable of its key.
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
        self.keep = [False, False]
        self.variables = variables
        self.at = 1 if base_url else 2 if model and not model.endswith("/") else 0
        self.fault = ""

    def head(self, width: int) -> list[Strip]:
        return self.title_rows(width, "Another provider")

    def body(self, width: int) -> list[Strip]:
        named = (
            ("Model", "provider/model, as anthropic/claude-sonnet-5-5"),
            ("Address", "empty: the provider's own; or http://localhost:8000/v1"),
            (self._key_name(), "shown as dots; empty: none, or the one that is set"),
        )
        rows: list[Strip] = []
        for at, ((label, hint), typed) in enumerate(zip(named, self.fields, strict=True)):
            row = self._row(at)
            cursor = self.style("s2", "t1") if row.chosen else None
            value = typed.parts(max(6, width - 26), row.style(), cursor, hint, row.style("t3"))
            rows.append(row.line(width, [row.mark, (label[:21].ljust(22), row.style("t2")), *value]))
        rows.append(self.line(width, []))
        for at, (label, about) in enumerate(KEEP):
            row = self._row(len(self.fields) + at)
            box = f"[{'x' if self.keep[at] else ' '}] {label}".ljust(22)
            rows.append(row.line(width, [row.mark, (box, row.style("t2")), (about, row.style("t3"))]))
        if self.fault:
            rows += [self.line(width, []), self.line(width, [part(self.fault, self.style("warning"))])]
        return rows

    def _row(self, at: int) -> Pen:
        return self.choice_row(at == self.at, f"field {at}", "s2")

    def _key_name(self) -> str:
        return key_variable(self.vendor) if self.fields[0].text else "Key"

    @property
    def vendor(self) -> str:
        """Whose key it is: the model's vendor's; for a server of one's own its own variable, never a vendor's."""
        name = self.fields[0].text.strip()
        if name in self.variables:
            return self.variables[name]
        vendor, slash, _ = name.lower().partition("/")
        known = vendor in PROVIDERS
        address = self.fields[1].text.strip()
        if slash and (known or not address):
            return vendor
        return OWN_SERVER if address else "openai"

    def foot(self, width: int) -> list[Strip]:
        return [*self.spacer(width), self.keys_row(width, *KEYS)]

    def type_key(self, key: str, character: str | None) -> bool:
        taken = self.at < 3 and self._typed(lambda field: field.key(key, character))
        if taken:
            self.redraw()
        return taken

    def move(self, by: int) -> None:
        """Go to the line above or below."""
        self.at = (self.at + by) % 5
        self.redraw()

    def go_on(self) -> None:
        """Go to the next field; from the last one use what is typed."""
        if self.at < 2:
            self.move(1)
        else:
            self._use()

    def tick(self) -> bool:
        """Tick the box on this line, or no longer; False on a line that is typed."""
        if self.at < 3:
            return False
        self.keep[self.at - 3] ^= True
        self.redraw()
        return True

    def _use(self) -> None:
        model, address, key = (one.text.strip() for one in self.fields)
        if not model:
            self.fault, self.at = "A model's name is needed.", 0
        elif address and not address.startswith(("http://", "https://")):
            self.fault, self.at = "An address starts with http:// or https://.", 1
        elif " " in model or model.lower().startswith(("sk-", "gsk_", "xai-")) or model.endswith("/"):
            self.fault, self.at = (
                "That is no model's name: provider/model, or a profile. The key goes below.",
                0,
            )
        elif self.keep[0] and not key:
            self.fault, self.at = "There is no key to keep yet.", 2
        else:
            self.dismiss(Provider(model, address, self.vendor, key, self.keep[0], self.keep[1]))
            return
        self.redraw()

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        if self.at < 3:
            self._typed(lambda one: one.insert(event.text))
            self.redraw()

    def _typed(self, change: Callable[[Field], object]) -> bool:
        """Change the field that is written in; what was wrong with its text is gone with it. False where not taken."""
        one = self.fields[self.at]
        before = one.text
        taken = change(one)
        if one.text != before:
            self.fault = ""
        return taken is not False

    def clicked(self, wish: str) -> None:
        number = wish.removeprefix("field ")
        if number.isdigit():
            self.at = int(number)
            if self.at > 2:
                self.keep[self.at - 3] ^= True
            self.redraw()
