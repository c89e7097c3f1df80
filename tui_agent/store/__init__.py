"""The session store: append-only logs of checksummed JSON lines, and their blobs.

Invariant: an acknowledged event is never lost or changed. A damaged line is reported and skipped, and never stops
reading. All other files of the store can be rebuilt from logs and blobs.
"""
