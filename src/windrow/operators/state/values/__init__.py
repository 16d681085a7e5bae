"""Values that aggregates keep: multisets as sorted runs, by pane or as rows."""
