"""What users' words mean as plan nodes: the fluent API and SQL come here for the same nodes."""
