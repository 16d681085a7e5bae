"""The algorithms of "Stream Aggregation with Compressed Sliding Windows" (StreamZip, 2023), as loops over arrays.

In the order in which a value meets them: `bits` and the codecs `base_delta`, `gorilla` (XOR) and `squeeze` (SZ), each
an `append` and a `decode` that move a cursor over a ring of lines of 64 bytes; `codecs` chooses among them;
`aggregates` has the paper's query; `windows` slides a window for each key; `queues` is figure 10, cell by cell.
"""
