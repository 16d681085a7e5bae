-- Li, Window Queries over Data Streams: Q8-2, the same over two links.
CREATE STREAM M1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
CREATE STREAM M2 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT srcIP, destIP, count(*)
[RANGE 1 minute, SLIDE 1 minute, WA ts]
FROM M1 UNION M2
GROUP BY srcIP, destIP;
