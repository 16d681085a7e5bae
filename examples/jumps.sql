-- How often, each minute, a trade of one symbol is followed within ten seconds by one at a price at least 5 apart.
--
--   windrow generate trades build/demo/trades.parquet --disorder "band 30 s"
--   windrow run examples/jumps.sql --engine local
CREATE STREAM trades (symbol STRING, price INT, volume INT, time TIMESTAMP)
  FROM 'build/demo/trades.parquet' PROGRESS ON time SLACK 30 SECONDS;

SELECT count(*) [RANGE 1 MINUTE, SLIDE 1 MINUTE, WA later.time] AS jumps
FROM trades AS first JOIN trades AS later
  ON first.symbol = later.symbol
  AND later.time > first.time AND later.time <= first.time + INTERVAL '10' SECOND
  AND abs(later.price - first.price) >= 5
WHERE first.symbol = 'UBSN';
