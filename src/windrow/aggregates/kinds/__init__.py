"""What an aggregate is, and what aggregates of one kind share; the aggregates themselves are in the folder above."""
