"""Names, constants, scalar expressions and aggregate calls: from syntax trees to checked expressions."""
