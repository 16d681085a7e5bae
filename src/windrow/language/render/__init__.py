"""Plans back to SQL text."""
