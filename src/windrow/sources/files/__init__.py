"""Files of every kind as sources."""
