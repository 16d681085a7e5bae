"""AdaptWID: panes for the groups that are worth it, packed rows for the others."""
