-- Li, Window Queries over Data Streams: Q2-1, packets of two sources in every minute; ts is in minutes.
CREATE STREAM Main1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts INT)
  PROGRESS ON ts;
SELECT srcIP, ts, count (*)
FROM Main1
WHERE srcIP = "202.101.0.0" or srcIP = "202.101.0.1"
GROUP BY srcIP, ts;
