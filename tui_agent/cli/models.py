"""List the models that you can use, or test one with a short question."""

import argparse
import time

import anyio

from tui_agent.cli.console.output import say, say_json, say_json_lines, say_result, table
from tui_agent.cli.console.shared_options import Parser, Verbs, load_context
from tui_agent.errors import ConfigError, ModelError
from tui_agent.models.answer_assembler import Assembler
from tui_agent.models.provider_faults import is_unknown_model
from tui_agent.ports.model import ModelClient, ModelFault, ModelRequest
from tui_agent.protocol.events.model import FaultKind
from tui_agent.protocol.ids import RequestId
from tui_agent.protocol.messages import UserMessage
from tui_agent.protocol.parts import TextContent, Usage
from tui_agent.protocol.settings import ModelInfo
from tui_agent.protocol.unicode_text import clip_line
from tui_agent.units import format_duration, format_price, format_time_limit, format_tokens
from tui_agent.wiring.models import build_model_factory

EXAMPLES = """\
examples:
  tui-agent models list
  tui-agent models check fast
  tui-agent models check my-model --base-url http://127.0.0.1:8000/v1
"""
HEADS = ("name", "provider", "model", "window", "$/M in", "$/M out")
QUESTION = "Answer with the one word: ready"
MAX_TOKENS = 64
PATIENCE_S = 25.0
"""Time limit for the model's answer, in seconds."""
# The app runs this command with a longer time limit.
_SLOW_HINT = (
    "The server may still be loading the model: try again. If this does not help, check the server's address."
)


def configure(parser: Parser) -> None:
    """Add the subcommands of `models`."""
    verbs = Verbs(parser, EXAMPLES)
    verbs.add("list", list_models, "list the models that you can use")
    check = verbs.add(
        "check", check_model, "test a model with one short question", groups=("folders", "model")
    )
    check.add_argument(
        "name", nargs="?", metavar="NAME", help="a profile or a model name (default: the configured model)"
    )


def list_models(arguments: argparse.Namespace) -> None:
    """Print the usable models, then each unusable profile with the reason."""
    base = load_context(arguments)
    factory = build_model_factory(base)
    models, unready = factory.usable_models(), factory.unusable_profiles()
    chosen = base.config.model
    if chosen and chosen not in {info.profile for info in models} | {name for name, _, _ in unready}:
        try:
            models.insert(0, factory.resolve(chosen, base.config.base_url))
        except ConfigError as error:
            unready.insert(0, (chosen, chosen, str(error)))
    if arguments.json:
        say_json_lines(info.model_dump(mode="json") | {"default": info.profile == chosen} for info in models)
        say_json_lines(
            {"profile": name, "model": model, "fault": fault, "default": name == chosen}
            for name, model, fault in unready
        )
        return
    table([row(info, chosen=chosen) for info in models], HEADS)
    if unready:
        say("\nNot usable yet:")
    for name, _, fault in unready:
        say(f"  {name}{' *' if name == chosen else ''}  {fault}")
    say(
        "\n* the default model"
        if chosen
        else "\nNo model is set. Set one with --model NAME, `model = …` in config.toml, or /model in the app."
    )


def row(info: ModelInfo, *, chosen: str) -> list[str]:
    """Return the table cells of one model. A star marks the model of the profile `chosen`."""
    name = f"{info.profile} *" if info.profile == chosen else info.profile
    window = format_tokens(info.window) if info.window else "?"
    return [name, info.provider, info.model, window, price(info.input_price), price(info.output_price)]


def price(amount: float | None) -> str:
    """Format a price in USD per million tokens."""
    return "?" if amount is None else format_price(amount)


class NoAnswer(ModelError):
    """Raised if the tested model did not answer."""

    def __init__(self, kind: FaultKind, message: str, hint: str, *, is_address_suspect: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.is_address_suspect = is_address_suspect
        """True if the server's address is probably wrong."""


def _describe_fault(name: str, fault: ModelFault) -> str:
    if fault.kind == "auth" and fault.status in (401, 403):
        reason = fault.message.partition(": ")[2].rstrip(".") or "no reason given"
        return f"The key was refused ({fault.status}): {reason}."
    if is_unknown_model(fault):
        return f"No such model: {name}."
    if fault.status:
        return fault.message
    return f"{name} does not answer: {fault.message}"


def check_model(arguments: argparse.Namespace) -> None:
    """Send a model one short question. Raise `ModelError` if the model does not answer."""
    base = load_context(arguments)
    config, factory = base.config, build_model_factory(base)
    info = factory.resolve(arguments.name or config.model, config.base_url, config.reasoning_effort)
    started = time.monotonic()
    try:
        answer, usage = anyio.run(ask, factory.client(info), info)
    except NoAnswer as fault:
        if arguments.json:
            say_json(
                {
                    "fault": fault.kind,
                    "message": fault.message,
                    "hint": fault.hint,
                    "address_suspect": fault.is_address_suspect,
                }
            )
        raise
    duration = time.monotonic() - started
    figures = f"{clip_line(answer, 80)!r}, {format_tokens(usage.input_tokens)} tokens in, {format_tokens(usage.output_tokens)} out"
    say_result(
        info.model_dump(mode="json") | {"answer": answer, "seconds": duration, "usage": usage.model_dump()},
        f"{info.profile} answers in {format_duration(duration)} ({figures})",
        as_json=arguments.json,
    )


async def ask(client: ModelClient, info: ModelInfo) -> tuple[str, Usage]:
    """Send one question to a client; return the answer and its token usage."""
    request = ModelRequest(
        request_id=RequestId("req_check"),
        model=info,
        system="",
        messages=(UserMessage(content=(TextContent(text=QUESTION),)),),
        tools=(),
        max_tokens=MAX_TOKENS,
    )
    answer = Assembler()
    try:
        with anyio.fail_after(PATIENCE_S):
            async with client.stream(request) as chunks:
                async for chunk in chunks:
                    answer.feed(chunk)
    except TimeoutError as error:
        message = f"{info.profile} did not answer within {format_time_limit(PATIENCE_S)}."
        raise NoAnswer("timeout", message, hint=_SLOW_HINT) from error
    finally:
        await client.aclose()
    if answer.fault is not None:
        fault = answer.fault
        raise NoAnswer(
            fault.kind,
            _describe_fault(info.profile, fault),
            hint=fault.hint,
            is_address_suspect=fault.status in (404, 405) and not is_unknown_model(fault),
        )
    if answer.finished is None:
        raise ModelError(f"{info.profile} stopped in the middle of its answer.", hint="Try again.")
    return answer.text, answer.usage
