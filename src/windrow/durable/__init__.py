"""Files and folders that survive: sealed files, the lock of a folder, temporary folders. Knows no queries."""
