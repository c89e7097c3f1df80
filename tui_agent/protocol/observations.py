"""What came of an action, as named observations: a closed union over the results that the log records.

Invariant: `observation_from_dict(observation.to_dict()) == observation`.
"""

from functools import cache
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from tui_agent.protocol.base import Frozen, JsonMap, LongText, text_preview


class ObservationBase(Frozen):
    """Base of every observation. `content` is what the model was told."""

    observation: str
    content: LongText = ""

    @property
    def message(self) -> str:
        """One friendly line."""
        return self.observation

    def to_dict(self) -> JsonMap:
        """`observation`, `message`, `content`, `extras`: everything, as plain JSON."""
        plain = self.model_dump(mode="json", exclude={"observation", "content"}, exclude_defaults=True)
        content = self.content if isinstance(self.content, str) else self.content.model_dump(mode="json")
        return {
            "observation": self.observation,
            "message": self.message,
            "content": content,
            "extras": plain,
        }

    def to_memory(self) -> JsonMap:
        """The same without `message`, a long content as its preview: what a model is told."""
        plain = self.to_dict()
        del plain["message"]
        return {**plain, "content": text_preview(self.content)}


class CmdOutput(ObservationBase):
    """A command has ended; `exit_code` None where it had to be stopped."""

    observation: Literal["run"] = "run"
    command: str = ""
    exit_code: int | None = None

    @property
    def message(self) -> str:
        """One friendly line."""
        end = "was stopped" if self.exit_code is None else f"ended with exit status {self.exit_code}"
        return f"The command {end}: {self.command}"


class BrowserOutput(ObservationBase):
    """A web page as text."""

    observation: Literal["browse"] = "browse"
    url: str = ""

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"Read {self.url}"


class FileRead(ObservationBase):
    """A file's content, or lines of it."""

    observation: Literal["read"] = "read"
    path: str = ""

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"Read {self.path}"


class FileWrite(ObservationBase):
    """A file was written or edited."""

    observation: Literal["write"] = "write"
    path: str = ""

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"Wrote {self.path}"


class Error(ObservationBase):
    """The action failed, was wrong, was denied, or was stopped. `content` has the raw words."""

    observation: Literal["error"] = "error"
    tool: str = ""
    status: Literal["failed", "invalid", "denied", "interrupted", "lost"] = "failed"

    @property
    def message(self) -> str:
        """One friendly line."""
        what = {"invalid": "was called wrongly", "interrupted": "was stopped", "lost": "got lost"}
        return f"{self.tool} {what.get(self.status, self.status)}".strip()


class Success(ObservationBase):
    """Any other call that went well."""

    observation: Literal["success"] = "success"
    tool: str = ""

    @property
    def message(self) -> str:
        """One friendly line."""
        return f"{self.tool} is done".strip()


AnyObservation: TypeAlias = Annotated[
    CmdOutput | BrowserOutput | FileRead | FileWrite | Error | Success, Field(discriminator="observation")
]


@cache
def _adapter() -> TypeAdapter[AnyObservation]:
    return TypeAdapter(AnyObservation)


def observation_from_dict(plain: JsonMap) -> AnyObservation:
    """The observation that `to_dict` gave. Raises `pydantic.ValidationError` where it is none."""
    extras = plain.get("extras")
    return _adapter().validate_python(
        {
            "observation": plain.get("observation"),
            "content": plain.get("content", ""),
            **(extras if isinstance(extras, dict) else {}),
        }
    )
