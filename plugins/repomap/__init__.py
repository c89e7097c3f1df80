"""Plugin: the repository map. It ranks files for a question and shows their relevant symbols."""

from .repo_map import repo_map

__all__ = ["repo_map"]
