-- Li, Window Queries over Data Streams: Q5-4, a landmark window.
CREATE STREAM Main1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT srcIP, count(*) [RANGE ALL, SLIDE 1 minute, WA ts]

FROM Main1 GROUP BY srcIP;
