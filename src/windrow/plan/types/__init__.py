"""Types of columns and expressions."""
