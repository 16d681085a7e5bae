-- Li, Window Queries over Data Streams: Q6-5, the memory of eager and lazy aggregation.
CREATE STREAM M1 (srcIP STRING, destIP STRING, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT srcIP, count(*) [RANGE 5 minutes, SLIDE 1 minute, WA ts] FROM M1 GROUP BY srcIP;
