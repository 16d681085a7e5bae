-- Li, Window Queries over Data Streams: Q5-2, a partitioned window: the past 1000 packets of each source.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, length INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT srcIP, max(length) [RANGE 1000 rows, SLIDE 10 rows, WA row-num, PA srcIP] FROM Main;
