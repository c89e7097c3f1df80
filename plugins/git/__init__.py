"""Plugin: git as tools with few arguments: status, diff, log, blame and commit."""

from .git_tools import git_blame, git_commit, git_diff, git_log, git_status

__all__ = ["git_blame", "git_commit", "git_diff", "git_log", "git_status"]
