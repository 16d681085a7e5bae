"""Streams that come in datagrams: `source` is what the rest of Windrow knows of them.

`calls` and `sockets` speak to the system; `receiving` has the thread that empties a socket; `readings` takes datagrams
apart, `records` makes columns of rows, and `ring` keeps what nobody took yet.
"""
