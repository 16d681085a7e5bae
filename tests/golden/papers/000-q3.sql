-- Oge et al., Wire-Speed Implementation of Sliding-Window Aggregate Operator over Out-of-Order Data Streams: Q_3, the trades of one symbol in the past 10 minutes, every minute.
CREATE INPUT STREAM Trades (Symbol STRING, Price INT, Volume INT, Time TIMESTAMP)
  PROGRESS ON Time SLACK 60 SECONDS;
SELECT Time, count(*) AS Number
FROM Trades [RANGE 600 seconds
SLIDE 60 seconds
WATTR Time]
WHERE Symbol = "UBSN";
