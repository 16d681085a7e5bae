-- Li, Window Queries over Data Streams: Q5-6, a slide-by-tuple window by rank: a result for every fifth packet in order of ts.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT count(*)

[RANGE 5 minutes, RATTR ts, SLIDE 5 rows, SATTR rank(ts)] FROM Main;
