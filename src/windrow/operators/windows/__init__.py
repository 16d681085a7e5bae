"""How windows are computed: one file an algorithm. All of them give the same answers."""
