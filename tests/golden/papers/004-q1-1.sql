-- Li, Window Queries over Data Streams: Q1-1, packets of each source in the past 10 minutes, every minute.
CREATE STREAM M (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT srcIP, count(*) [RANGE 10 minutes, SLIDE 1 minute, WA ts] FROM M GROUP BY srcIP;
