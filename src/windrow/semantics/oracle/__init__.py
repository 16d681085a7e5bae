"""The oracle: any query by brute force, from the definitions alone."""
