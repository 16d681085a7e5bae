"""Files and folders that survive: sealed files, manifests of checkpoints, the lock of a folder, temporary folders.
Knows no queries.
"""
