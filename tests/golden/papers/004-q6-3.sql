-- Li, Window Queries over Data Streams: Q6-3, panes with groups; the group is not selected.
CREATE STREAM packets (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT count(*) [RANGE 4 minutes, SLIDE 1 minute, WA ts] FROM packets GROUP BY srcIP;
