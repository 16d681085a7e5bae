-- Li, Window Queries over Data Streams: Q5-5, a slide-by-tuple window: a result for every packet.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, length INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT max(length)

[RANGE 5 minutes, RATTR ts, SLIDE 1 row, SATTR row-num] FROM Main;
