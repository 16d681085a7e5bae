-- The last ten minutes of one symbol, every minute, over trades that arrive out of order.
--
--   windrow generate trades build/demo/trades.parquet --disorder "band 30 s"
--   windrow run examples/trades.sql
CREATE STREAM trades (symbol STRING, price INT, volume INT, time TIMESTAMP)
  FROM 'build/demo/trades.parquet' PROGRESS ON time SLACK 30 SECONDS;

SELECT symbol, count(*) AS number, sum(volume) AS volume
FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR time]
WHERE symbol = 'UBSN'
GROUP BY symbol;
