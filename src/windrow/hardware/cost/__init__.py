"""What a circuit takes on a chip, and how it looks.

`virtex6.py` counts cells as the papers' tools would, `ecp5.py` places and routes and knows the clock too. Both give the
`ChipCost` of `chips.py`, which makes tables of them. `picture.py` draws the pipeline of a design.
"""
