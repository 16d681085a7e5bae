-- how: divided
CREATE STREAM trades (ts TIMESTAMP, symbol STRING, price DOUBLE, volume BIGINT) PROGRESS ON ts SLACK 10 SECONDS;
SELECT symbol, sum(volume) AS volume FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR ts] WHERE price > 1 GROUP BY symbol;
SELECT symbol, count(*) AS n FROM trades [GAP 30 SECONDS WATTR ts] GROUP BY symbol;
