"""Proofs about small circuits: true for every input of so many elements, or a counterexample cycle by cycle.

`bounded.py` asks Yosys whether a signal can ever rise within so many cycles. `race.py` feeds two circuits the same
elements and compares their results, `meetings.py` watches which rows of a join meet; both hold what is free for a whole
run still with `standing_inputs.py`. `claims.py` says what is proved.
"""
