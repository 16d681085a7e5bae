-- Li, Window Queries over Data Streams: Q6-1, the query of the WID implementation.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
Select srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts] From Main Group By srcIP;
