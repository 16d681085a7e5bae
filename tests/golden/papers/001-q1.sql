-- Oge et al., An Efficient and Scalable Implementation of Sliding-Window Aggregate Operator on FPGA: Q_1, the highest bid of the past 4 minutes, every minute.
CREATE STREAM bids (auction INT, bid-price DOUBLE, timestamp TIMESTAMP)
  PROGRESS ON timestamp SLACK 60 SECONDS;
SELECT max(bid-price), timestamp
FROM bids [RANGE 4 minutes
SLIDE 1 minute
WATTR timestamp];
