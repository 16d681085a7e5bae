-- Li, Window Queries over Data Streams: Q6-2, the query of the panes.
CREATE STREAM Main (srcIP STRING, srcPort INT, destIP STRING, destPort INT, length INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT max(length) [RANGE 4 minutes, SLIDE 1 minute, WA ts] FROM Main;
