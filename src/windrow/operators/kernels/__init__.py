"""The hot loops: plain Numba functions over arrays with explicit output, cached on disk, free of the GIL.

No objects, no configuration: what to run is decided by the operators above.
"""
