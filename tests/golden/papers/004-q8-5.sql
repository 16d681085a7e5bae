-- Li, Window Queries over Data Streams: Q8-5, a sliding count over three links of different delay.
CREATE STREAM M1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
CREATE STREAM M2 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
CREATE STREAM C (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT count(*)
[RANGE 5 minutes, SLIDE 1 minute, WA ts]
FROM M1 UNION M2 UNION C;
