"""`eval report`: report on evaluation runs, and compare them with each other or with a stored baseline."""

import argparse
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tui_agent.cli.console.exit_codes import Exit
from tui_agent.cli.console.output import say, say_json, say_text, table, warn
from tui_agent.cli.console.shared_options import Verbs, add_option
from tui_agent.errors import ConfigError, UsageError
from tui_agent.evals.report.report import Report, build_report
from tui_agent.evals.report.report_files import to_html, to_markdown
from tui_agent.evals.report.report_sections import Section, report_sections
from tui_agent.evals.report.run_baseline import Baseline, make_baseline
from tui_agent.evals.runs.results_by_arm import load_run, load_runs
from tui_agent.evals.runs.run_folder import RunFolder, describe_fault
from tui_agent.export.output_file import write_new

FORMATS: Final = {".txt": "text", ".md": "markdown", ".html": "html", ".json": "json"}
"""Maps a file's ending to the report's format."""
EXAMPLES = """\
examples:
  tui-agent eval report eval-runs/bench-20-1130-1200
  tui-agent eval report eval-runs/before eval-runs/after -o difference.html
  tui-agent eval report eval-runs/main --save-baseline baseline.json
  tui-agent eval report eval-runs/branch --baseline baseline.json

exit status: 0 no regression, 1 a case that passed in the baseline fails now, 2 usage, or a run that cannot be read
"""


def add_report_verb(verbs: Verbs) -> None:
    """Add the subcommand `report` to `verbs`."""
    report = verbs.add("report", show_report, "report on runs and compare them", examples=EXAMPLES, groups=())
    report.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="the folder of a run")
    add_option(
        report,
        "--format",
        "the format (default: from FILE's extension, otherwise text)",
        choices=tuple(FORMATS.values()),
    )
    add_option(report, "-o --output FILE", "write the report to FILE", type=Path)
    add_option(
        report, "--baseline FILE|RUN", "list the cases that passed in this baseline and fail now", type=Path
    )
    add_option(report, "--save-baseline FILE", "save the run's results as a baseline in FILE", type=Path)


def show_report(arguments: argparse.Namespace) -> int:
    """Print or write a report. Return `Exit.FAILED` if a case passed in the baseline and fails now."""
    if len(arguments.runs) > 1 and (arguments.baseline or arguments.save_baseline):
        raise UsageError("A baseline can only be used with one run.", hint="Name one RUN.")
    baseline = None if arguments.baseline is None else _load_baseline(arguments.baseline)
    runs = load_runs(arguments.runs)
    report = build_report(runs, baseline)
    for run in report.runs:
        for damaged in run.damaged:
            warn(f"{damaged.file} cannot be read: {damaged.reason}")
    text = _render(report, _format(arguments))
    if arguments.output is None:
        say_text(text)
    else:
        write_new(arguments.output.expanduser(), text.encode())
        say(str(arguments.output))
    if arguments.save_baseline is not None:
        data = make_baseline(runs[0]).model_dump_json(indent=1)
        write_new(arguments.save_baseline.expanduser(), f"{data}\n".encode())
    return Exit.FAILED if report.baseline is not None and report.baseline.regressions else Exit.DONE


def print_sections(sections: list[Section]) -> None:
    """Print the sections of a report on the terminal."""
    for number, section in enumerate(sections):
        say(f"{'' if number == 0 else chr(10)}{section.title}")
        for sentence in section.sentences:
            say(sentence)
        if section.rows:
            table(section.rows, section.head)


def _format(arguments: argparse.Namespace) -> str:
    if arguments.json:
        return "json"
    if arguments.format or arguments.output is None:
        return arguments.format or "text"
    try:
        return FORMATS[arguments.output.suffix]
    except KeyError:
        raise UsageError(
            f"{arguments.output}: the format is not clear from the extension.",
            hint=f"Add --format, or use one of the extensions {', '.join(FORMATS)}.",
        ) from None


def _render(report: Report, output_format: str) -> str:
    if output_format == "html":
        return to_html(report)
    if output_format == "markdown":
        return to_markdown(report)
    with redirect_stdout(StringIO()) as text:
        if output_format == "json":
            say_json(report.model_dump(mode="json"))
        else:
            print_sections(report_sections(report))
    return text.getvalue()


def _load_baseline(path: Path) -> Baseline:
    path = path.expanduser()
    if path.is_dir():
        return make_baseline(load_run(RunFolder(path)))
    try:
        return Baseline.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {describe_fault(error)}.") from error
    except ValidationError as error:
        raise ConfigError(
            f"{path} is not a baseline: {describe_fault(error)}.",
            hint="To write a baseline, use --save-baseline.",
        ) from error
