"""The session store: append-only logs of checksummed JSON lines, and their blobs.

Invariant: an acknowledged event is never lost or changed.
"""
