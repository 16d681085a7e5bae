"""What was decided, as data: a logical plan in, a physical plan out, made by an ordered tuple of rules.

`make.make(plans, how)` is the door. `nodes.py` has one frozen node a way of executing, `rules/` one file a rule;
`pipeline/build.py` turns nodes into operators, and `explain/` into words for users.
"""
