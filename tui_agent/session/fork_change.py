"""The changes of a fork, applied when it is opened for the first time.

Invariant: each change is one event, and a recorded change is not applied again after a crash.
"""

from collections.abc import Callable

from tui_agent.engine.recorder import Recorder
from tui_agent.protocol.display import TextBlock
from tui_agent.protocol.events.session import ForkChange, SettingsChanged
from tui_agent.protocol.events.tool import ToolFinished
from tui_agent.protocol.parts import TextContent
from tui_agent.protocol.settings import Effort, ModelInfo, SessionSettings

Resolve = Callable[[str, str, Effort | None], ModelInfo]


def answer_call(recorder: Recorder, change: ForkChange) -> int:
    """Give the call whose result the fork replaces that result, if it is open. Return the number of calls, 0 or 1."""
    state = recorder.state
    call = next((call for call in state.open_calls if call.call_id == change.call_id), None)
    if call is None or change.result is None:
        return 0
    recorder.append(
        ToolFinished(
            call_id=call.call_id,
            name=call.name,
            status="ok",
            part=state.parts,
            content=(TextContent(text=change.result),),
            display=(TextBlock(text=change.result),),
            summary="replaced in this fork",
        ),
        agent=call.agent,
    )
    return 1


def take_on_settings(recorder: Recorder, resolve: Resolve, *, model_given: bool) -> None:
    """Set the model and the context mode that the fork was created with. Raises `ConfigError` as `resolve` does.

    `model_given`: the command line names a model, which takes precedence.
    """
    change, known = recorder.state.forked, recorder.state.settings
    if change is None or known is None:
        return
    if (change.model or change.reasoning_effort) and not model_given:
        effort = change.reasoning_effort or known.model.effort
        base_url = "" if change.model else known.model.base_url
        model = resolve(change.model or known.model.profile, base_url, effort)
        _record(recorder, known, known.model_copy(update={"model": model}), "model")
    if change.context_mode is not None:
        _record(
            recorder, known, known.model_copy(update={"context_mode": change.context_mode}), "context_mode"
        )


def _record(recorder: Recorder, old: SessionSettings, new: SessionSettings, key: str) -> None:
    # Compared values must be plain JSON, as the event stores them.
    previous, value = old.model_dump(mode="json")[key], new.model_dump(mode="json")[key]
    recorder.append(SettingsChanged.model_validate({"key": key, "value": value, "previous": previous}))
