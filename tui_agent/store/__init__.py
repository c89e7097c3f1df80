"""The session store: append-only logs of checksummed JSON lines, and their blobs.

Invariant: an acknowledged event is never lost or changed. A damaged line is reported and skipped, and never stops
reading. Every other file beside a log can be rebuilt from the log.
"""
