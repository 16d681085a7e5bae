-- Li, Window Queries over Data Streams: Q6-6, the query of AdaptWID.
CREATE STREAM packets (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT srcIP, sum(len) [RANGE 10 seconds, SLIDE 1 second, WA ts] FROM packets GROUPBY srcIP;
