-- Li, Window Queries over Data Streams: Q5-3, a tuple-based window: the past 1000 packets, by source.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, length INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT srcIP, max(length) [RANGE 1000 rows, SLIDE 10 rows, WA row-num] FROM Main GROUP-BY srcIP;
