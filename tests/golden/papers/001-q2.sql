-- Oge et al., An Efficient and Scalable Implementation of Sliding-Window Aggregate Operator on FPGA: Q_2, the pane-level query of Q_1.
CREATE STREAM bids (auction INT, bid-price DOUBLE, timestamp TIMESTAMP)
  PROGRESS ON timestamp SLACK 60 SECONDS;
SELECT max(bid-price) as p-max, timestamp FROM bids [RANGE 1 minute SLIDE 1 minute WATTR timestamp];
