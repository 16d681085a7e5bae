-- Li, Window Queries over Data Streams: Q6-8, a sliding count over three links.
CREATE STREAM Main1 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
CREATE STREAM Main2 (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
CREATE STREAM Control (srcIP STRING, srcPort INT, destIP STRING, destPort INT, len INT, ts TIMESTAMP)
  PROGRESS ON ts;
SELECT count(*)
[RANGE 10 sec, SLIDE 1 sec, WA ts]
FROM (Main2 ∪ (Main1 ∪ Control))
GROUP-BY srcIP;
