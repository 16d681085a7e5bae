-- how: trial
CREATE STREAM trades (ts TIMESTAMP, symbol STRING, price DOUBLE, volume BIGINT) PROGRESS ON ts SLACK 10 SECONDS;
SELECT symbol, sum(volume) AS volume FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTES WATTR ts] GROUP BY symbol;
