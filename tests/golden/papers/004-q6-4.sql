-- Li, Window Queries over Data Streams: Q6-4, heavy hitters; the thesis gives this query in words only.
CREATE STREAM packets (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT heavy_hitters(srcIP, 0.05) [RANGE 10 minutes, SLIDE 1 minute, WA ts] FROM packets;
