"""Decorators that turn a function into a plugin's tool, hook, command, pane, oracle or verifier.

Invariant: the function itself is unchanged.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from typing import Any, Literal, Protocol, TypeAlias, get_type_hints

from anyio import to_thread
from pydantic import BaseModel, ConfigDict, Field, create_model
from pydantic.errors import PydanticUserError

from tui_agent.errors import PluginError
from tui_agent.ports.environment import Environment
from tui_agent.ports.tool import Preview, Service, ToolContext, ToolResult, ToolSpec
from tui_agent.protocol.effects import (
    Effect,
    InternalEffect,
    NetworkEffect,
    ReadEffect,
    RunEffect,
    WriteEffect,
)
from tui_agent.protocol.parts import TextContent

Names: TypeAlias = str | Sequence[str]
"""The name of an argument, or a sequence of names."""
_SUMMARY_CHARS = 60


class Registry(Protocol):
    """The part of `PluginApi` that decorated functions use."""

    def tool(self, tool: Any) -> None: ...

    def hook(self, event: str, target: Callable[..., object]) -> None: ...

    def command(
        self,
        name: str,
        function: Callable[..., Awaitable[object]],
        *,
        help: str,
        arguments: str,
        complete: Callable[..., object] | None,
    ) -> None: ...

    def oracle(self, name: str, function: Callable[..., Awaitable[object]]) -> None: ...

    def verifier(self, name: str, function: Callable[..., Awaitable[object]]) -> None: ...


class FunctionTool:
    """A tool made from a function by `@tool`; tests can call the object like the function."""

    def __init__(
        self,
        function: Callable[..., Any],
        spec: ToolSpec,
        effects: Callable[..., Iterable[Effect]],
        target: Callable[..., str],
    ) -> None:
        self.spec = spec
        self.function = function
        self._effects = effects
        self._target = target
        self._takes_context = "ctx" in inspect.signature(function).parameters

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def register(self, api: Registry) -> None:
        """Register the tool."""
        api.tool(self)

    def target(self, args: BaseModel) -> str:
        """Return the text that the app shows for a call, such as a path or a command."""
        return self._target(**_arguments(args))

    def effects(self, args: BaseModel) -> tuple[Effect, ...]:
        """Return the effects of a call, as declared in `@tool`."""
        return tuple(self._effects(**_arguments(args)))

    async def preview(self, args: BaseModel, env: Environment) -> Preview:
        """Return an empty preview, so that an approval shows only the call's verb and target."""
        return Preview(())

    async def run(self, args: BaseModel, ctx: ToolContext) -> ToolResult:
        """Call the function, in a thread if it is not `async`, and return its result or text."""
        call = partial(self.function, **_arguments(args))
        if self._takes_context:
            call = partial(call, ctx=ctx)
        if inspect.iscoroutinefunction(self.function):
            result = await call()
        else:
            # In a thread, because a function without `async` would block the event loop.
            try:
                result = await to_thread.run_sync(_run_in_thread, call)
            except _ErrorInThread as raised:
                raise raised.error from raised.error.__cause__
        if isinstance(result, str):
            first = result.strip().partition("\n")[0]
            return ToolResult(True, (TextContent(text=result),), first[:_SUMMARY_CHARS])
        if isinstance(result, ToolResult):
            return result
        raise PluginError(f"it returned {type(result).__name__}; return a text or a ToolResult")


class _ErrorInThread(Exception):
    """Wraps an error raised in a thread."""

    # Some errors, such as `GeneratorExit`, cannot pass from a thread to its caller.

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error = error


def _run_in_thread(call: Callable[[], object]) -> object:
    try:
        return call()
    except BaseException as error:
        raise _ErrorInThread(error) from error


class FunctionHook:
    """A hook made from a function by `@hook`."""

    def __init__(self, function: Callable[..., object], event: str) -> None:
        self.function = function
        self.event = event

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def register(self, api: Registry) -> None:
        """Register the hook."""
        api.hook(self.event, self.function)


class FunctionCommand:
    """A slash command made from a function by `@command`."""

    def __init__(
        self,
        function: Callable[..., Awaitable[object]],
        name: str,
        help: str,
        arguments: str,
        complete: Callable[..., object] | None,
    ) -> None:
        self.function = function
        self._name, self._help, self._arguments, self._complete = name, help, arguments, complete

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def register(self, api: Registry) -> None:
        """Register the command."""
        texts = {"help": self._help, "arguments": self._arguments}
        api.command(self._name, self.function, **texts, complete=self._complete)


class FunctionOffer:
    """An oracle or a verifier for evaluations, made from a function by `@oracle` or `@verifier`."""

    def __init__(self, function: Callable[..., Awaitable[Any]], kind: Literal["oracle", "verifier"]) -> None:
        self.function, self._kind = function, kind

    def __call__(self, *args: Any) -> Awaitable[Any]:
        return self.function(*args)

    def register(self, api: Registry) -> None:
        """Register the function under its name."""
        register = api.oracle if self._kind == "oracle" else api.verifier
        register(self.function.__name__, self.function)


class Fold(Protocol):
    """An object that collects data from a session's events.

    `apply` gets each event once, in order. `view` returns the data that panes show.
    """

    def apply(self, event: Any, /) -> object: ...

    def view(self) -> Any: ...


class FunctionPane:
    """A pane made from a function by `@pane`; tests can call the object like the function."""

    def __init__(self, function: Callable[[Any], object], fold: Callable[[], Fold]) -> None:
        self.function = function
        self.fold = fold

    def __call__(self, view: Any) -> Any:
        return self.function(view)


DECORATED = (FunctionTool, FunctionHook, FunctionCommand, FunctionOffer)
"""The classes of the objects that the decorators make."""


def _arguments(args: BaseModel) -> dict[str, Any]:
    return {name: getattr(args, name) for name in type(args).model_fields}


def tool(
    *,
    reads: Names = (),
    writes: Names = (),
    connects: Names = (),
    runs: Names = (),
    internal: str = "",
    effects: Callable[..., Iterable[Effect]] | None = None,
    target: Callable[..., str] | None = None,
    name: str = "",
    verb: str = "",
    timeout: float | None = 60.0,
    parallel_safe: bool = False,
    needs: Iterable[Service] = (),
) -> Callable[[Callable[..., object]], FunctionTool]:
    """Make a tool from a function; its name, docstring and annotated parameters describe the tool to the model.

    A parameter `ctx` gets the `ToolContext`. Raise `PluginError` if no effects are declared.

    - `reads`, `writes`, `connects`, `runs`: names of parameters with paths (`reads`, `writes`), hosts, or bash commands.
    - `internal`: name for the part of the session that the tool changes, e.g. `todos`.
    - `effects`: function that returns the effects. Its parameters are those of the tool, without `ctx`.
    - `target`: function that returns the text shown for a call (default: the value of the first declared parameter).
    """
    declared = {
        "reads": _names(reads),
        "writes": _names(writes),
        "connects": _names(connects),
        "runs": _names(runs),
    }

    def decorate(function: Callable[..., object]) -> FunctionTool:
        label = f"The tool {name or function.__name__}"
        if not any((*declared.values(), internal, effects)):
            raise PluginError(
                f"{label} does not declare its effects.",
                hint="Declare `reads`, `writes`, `connects`, `runs`, `internal` or `effects` in `@tool(…)`.",
            )
        args = _arguments_model(function, label)
        for parameter in chain.from_iterable(declared.values()):
            if parameter not in args.model_fields:
                raise PluginError(f"{label} has no parameter {parameter!r}.")
        description = inspect.getdoc(function) or ""
        if not description:
            raise PluginError(f"{label} has no docstring, so the model cannot know when to use it.")
        tool_name = name or function.__name__
        spec = ToolSpec(
            tool_name,
            description,
            args,
            verb or tool_name.partition("_")[0][:9],
            timeout,
            parallel_safe,
            needs=frozenset(needs),
        )
        shown = next(chain(*declared.values(), args.model_fields), "")
        declare = effects or partial(_declared_effects, declared, internal)
        return FunctionTool(function, spec, declare, target or partial(_argument_text, shown))

    return decorate


def hook(event: str) -> Callable[[Callable[..., object]], FunctionHook]:
    """Make a hook from a function.

    `event`: a kind of event, such as `"tool.finished"`, or a hook event; see `PluginApi.hook`.
    """
    return lambda function: FunctionHook(function, event)


def command(
    name: str, *, help: str = "", arguments: str = "", complete: Callable[..., object] | None = None
) -> Callable[[Callable[..., Awaitable[object]]], FunctionCommand]:
    """Make a slash command from an `async` function of the typed arguments and the session's state.

    The default of `help` is the first line of the function's docstring. See `PluginApi.command`.
    """

    def decorate(function: Callable[..., Awaitable[object]]) -> FunctionCommand:
        summary = help or (inspect.getdoc(function) or "").partition("\n")[0]
        return FunctionCommand(function, name, summary, arguments, complete)

    return decorate


def oracle(function: Callable[..., Awaitable[object]]) -> FunctionOffer:
    """Make an oracle for evaluations from a function: `await function(workspace)` solves a case in the workspace."""
    return FunctionOffer(function, "oracle")


def verifier(function: Callable[..., Awaitable[object]]) -> FunctionOffer:
    """Make a verifier for evaluations from a function: `await function(workspace, records)` returns a `Verdict`."""
    return FunctionOffer(function, "verifier")


def pane(fold: Callable[[], Fold]) -> Callable[[Callable[[Any], object]], FunctionPane]:
    """Make a pane from a function in `folds.py`.

    The function gets the fold's view, and returns a text or display blocks.

    - `fold`: a class with a constructor without arguments.
    - `fold.apply(event)`: gets each event of the session's branch, without the streamed pieces of answers.
    - `fold.view()`: returns the data for the function.

    The file plugin.toml lists the names of the panes.
    """
    return lambda function: FunctionPane(function, fold)


def _argument_text(name: str, /, **arguments: object) -> str:
    return str(arguments.get(name, ""))


def _names(names: Names) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _declared_effects(
    declared: dict[str, tuple[str, ...]], internal: str, /, **arguments: object
) -> list[Effect]:
    make: dict[str, Callable[[str], Effect]] = {
        "reads": lambda value: ReadEffect(path=value),
        "writes": lambda value: WriteEffect(path=value),
        "connects": lambda value: NetworkEffect(host=value),
        "runs": lambda value: RunEffect(script=value),
    }
    effects: list[Effect] = [InternalEffect(subject=internal)] if internal else []
    for kind, names in declared.items():
        for name in names:
            value = arguments[name]
            values = value if isinstance(value, list | tuple | set) else () if value is None else (value,)
            effects += [make[kind](str(single)) for single in values]
    return effects


def _arguments_model(function: Callable[..., object], label: str) -> type[BaseModel]:
    """Return a pydantic model with a field for each parameter except `ctx`."""
    fields: dict[str, Any] = {}
    try:
        hints = get_type_hints(function, include_extras=True)
    except (NameError, TypeError) as error:
        raise PluginError(f"{label}: its annotations cannot be read: {error}.") from error
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise PluginError(f"{label}: the parameter {parameter} is not supported; name each argument.")
        if parameter.name == "ctx":
            continue
        if parameter.name not in hints:
            raise PluginError(f"{label}: the parameter {parameter.name!r} has no type.")
        default = ... if parameter.default is parameter.empty else parameter.default
        fields[parameter.name] = (hints[parameter.name], Field(default))
    try:
        return create_model(f"{function.__name__}_arguments", __config__=ConfigDict(extra="forbid"), **fields)
    except PydanticUserError as error:
        raise PluginError(f"{label}: {str(error).splitlines()[0]}") from error
