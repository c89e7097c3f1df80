"""Observations: the results of actions, as a closed union over the results in the log.

Invariant: `observation_from_dict(observation.to_dict()) == observation`.
"""

from functools import cache
from typing import Annotated, ClassVar, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from tui_agent.protocol.actions import Described
from tui_agent.protocol.base import JsonMap, LongText, text_preview


class ObservationBase(Described):
    """Base of every observation. `content` is the result as the model saw it."""

    observation: str
    content: LongText = ""

    def to_dict(self) -> JsonMap:
        """Return everything as plain JSON: `observation`, `message`, `content`, `extras`."""
        plain = self.model_dump(mode="json", exclude={"observation", "content"}, exclude_defaults=True)
        content = self.content if isinstance(self.content, str) else self.content.model_dump(mode="json")
        return {
            "observation": self.observation,
            "message": self.message,
            "content": content,
            "extras": plain,
        }

    def to_memory(self) -> JsonMap:
        """Return the JSON for a model: without `message`, and long content as its preview."""
        plain = self.to_dict()
        del plain["message"]
        return {**plain, "content": text_preview(self.content)}


class CmdOutput(ObservationBase):
    """The end of a command; `exit_code` is None if it had to be stopped."""

    observation: Literal["run"] = "run"
    command: str = ""
    exit_code: int | None = None

    @property
    def message(self) -> str:
        end = "was stopped" if self.exit_code is None else f"ended with exit status {self.exit_code}"
        return f"The command {end}: {self.command}"


class BrowserOutput(ObservationBase):
    """A web page as text."""

    observation: Literal["browse"] = "browse"
    url: str = ""
    template: ClassVar[str] = "Read {0.url}"


class FileRead(ObservationBase):
    """The content of a file, or some of its lines."""

    observation: Literal["read"] = "read"
    path: str = ""
    template: ClassVar[str] = "Read {0.path}"


class FileWrite(ObservationBase):
    """The result of writing or editing a file."""

    observation: Literal["write"] = "write"
    path: str = ""
    template: ClassVar[str] = "Wrote {0.path}"


class Error(ObservationBase):
    """A failure: the action failed, was invalid, was denied or was stopped. `content` has the original
    text."""

    observation: Literal["error"] = "error"
    tool: str = ""
    status: Literal["failed", "invalid", "denied", "interrupted", "lost"] = "failed"

    @property
    def message(self) -> str:
        phrases = {
            "invalid": "was called with invalid arguments",
            "interrupted": "was stopped",
            "lost": "was lost",
        }
        return f"{self.tool} {phrases.get(self.status, self.status)}".strip()


class Success(ObservationBase):
    """The result of any other call that succeeded."""

    observation: Literal["success"] = "success"
    tool: str = ""

    @property
    def message(self) -> str:
        return f"{self.tool} is done".strip()


AnyObservation: TypeAlias = Annotated[
    CmdOutput | BrowserOutput | FileRead | FileWrite | Error | Success, Field(discriminator="observation")
]


@cache
def _adapter() -> TypeAdapter[AnyObservation]:
    return TypeAdapter(AnyObservation)


def observation_from_dict(data: JsonMap) -> AnyObservation:
    """Return the observation that `to_dict` serialised. Raises `pydantic.ValidationError` if `data` is not
    one."""
    extras = data.get("extras")
    return _adapter().validate_python(
        {
            "observation": data.get("observation"),
            "content": data.get("content", ""),
            **(extras if isinstance(extras, dict) else {}),
        }
    )
