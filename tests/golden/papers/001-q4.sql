-- Oge et al., An Efficient and Scalable Implementation of Sliding-Window Aggregate Operator on FPGA: Q_4, the trades of one symbol in the past 600 seconds, every 60 seconds.
CREATE INPUT STREAM Trades (Symbol STRING, Price INT, Volume INT, Time TIMESTAMP)
  PROGRESS ON Time SLACK 60 SECONDS;
SELECT Time, count(*) AS Number
FROM Trades [RANGE 600 seconds
SLIDE 60 seconds
WATTR Time]
WHERE Symbol = "UBSN";
