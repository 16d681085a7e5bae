-- Oge et al., An Efficient and Scalable Implementation of Sliding-Window Aggregate Operator on FPGA: Q_3, the window-level query of Q_1, over the panes of Q_2.
CREATE STREAM panes (p-max DOUBLE, timestamp TIMESTAMP)
  PROGRESS ON timestamp SLACK 60 SECONDS;
SELECT max(p-max) as w-max, timestamp
FROM panes [RANGE 4 minutes
SLIDE 1 minute
WATTR timestamp];
