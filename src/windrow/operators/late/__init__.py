"""Late rows: which still count, what each missed, corrected results, promises for single groups."""
