-- how: divided
CREATE STREAM trades (ts TIMESTAMP, symbol STRING, price DOUBLE, volume BIGINT) PROGRESS ON ts SLACK 10 SECONDS;
SELECT symbol, sum(volume) AS volume FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTE WATTR ts] GROUP BY symbol;
SELECT symbol, max(price) AS most FROM trades [RANGE 15 MINUTES SLIDE 5 MINUTES WATTR ts] GROUP BY symbol;
