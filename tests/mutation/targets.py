"""What is broken on purpose, and which tests are to notice: the gate and the rules, the log's reader, going back."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Target:
    """Modules and their tests, the quickest first; all below the project's folder."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]


TARGETS = (
    Target(
        "gate",
        ("tui_agent/engine/tools/gate.py", "tui_agent/engine/tools/sandbox_retry.py"),
        (
            "tests/engine/test_gate_answers.py",
            "tests/engine/test_gate_facts.py",
            "tests/engine/test_edited_rule.py",
            "tests/engine/test_decisions_recorded.py",
            "tests/engine/test_doomed_calls.py",
            "tests/engine/test_homes_in_commands.py",
            "tests/engine/test_judged_files.py",
            "tests/engine/test_settling.py",
            "tests/engine/test_asked_again.py",
            "tests/engine/test_files_opened.py",
            "tests/engine/test_outside_the_sandbox.py",
            "tests/engine/test_hooks.py",
        ),
    ),
    Target(
        "policy",
        (
            "tui_agent/policy/decision/call_judge.py",
            "tui_agent/policy/decision/command_judge.py",
            "tui_agent/policy/decision/escalations.py",
            "tui_agent/policy/decision/file_judge.py",
            "tui_agent/policy/decision/policy.py",
            "tui_agent/policy/interpreter/call_options.py",
        ),
        ("tests/unit/policy/test_decisions_exactly.py", "tests/unit/policy"),
    ),
    Target(
        "log",
        (
            "tui_agent/store/log_scan.py",
            "tui_agent/store/log_line.py",
            "tui_agent/store/log_reader.py",
            "tui_agent/store/log_repair.py",
        ),
        (
            "tests/unit/store/test_scan_lines.py",
            "tests/unit/store/test_repair_lines.py",
            "tests/unit/store/test_reading_parts.py",
            "tests/unit/store/test_lock_and_readers.py",
            "tests/unit/store/test_append.py",
            "tests/unit/store/test_forks.py",
        ),
    ),
    Target(
        "revert",
        (
            "tui_agent/engine/checkpoints/rewind.py",
            "tui_agent/workspace/checkpoints/restore_plan.py",
            "tui_agent/workspace/checkpoints/restore.py",
        ),
        (
            "tests/unit/workspace/checkpoints/test_plan_parts.py",
            "tests/unit/workspace/checkpoints/test_restoring.py",
            "tests/unit/workspace/checkpoints/test_restore_parts.py",
            "tests/unit/workspace/checkpoints/test_faults.py",
            "tests/engine/test_rewind_records.py",
            "tests/engine/test_rewind_ground.py",
            "tests/engine/test_rewind.py",
            "tests/unit/workspace/checkpoints/test_cut_restores.py",
            "tests/engine/test_redo_in_a_fork.py",
            "tests/engine/test_unkept_files.py",
            "tests/engine/test_asked_again.py",
        ),
    ),
)
