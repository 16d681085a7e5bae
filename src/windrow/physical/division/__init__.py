"""Work divided among shards, as data: what is sent, by what it is routed, and which shards get copies.

`rules/divide.py` decides, `nodes.py` says what was decided, `sharded/` does it.
"""
