"""Files and folders that survive: sealed files, manifests of checkpoints, the lock of a folder, temporary folders.
Knows no queries.

Who writes a file gets its seal, its size and checksum, and keeps it elsewhere: bytes are known to be those written
before anyone reads them. A lock is the system's, which ends with its process, so none is ever stale.
"""
