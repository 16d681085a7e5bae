-- Li, Window Queries over Data Streams: Q8-1, packets of each pair of addresses in each minute.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT srcIP, destIP, count(*) [RANGE 1 minute, SLIDE 1 minute, WA ts]
FROM Main
GROUP BY srcIP, destIP;
