"""What the dialect adds to SQL's grammar: window clauses, declarations, settings after a query."""
