CREATE STREAM trades (ts TIMESTAMP, symbol STRING, price DOUBLE, volume BIGINT) PROGRESS ON ts SLACK 10 SECONDS;
SELECT symbol, count(*) AS n FROM trades [GAP 30 SECONDS WATTR ts] WHERE volume > 0 GROUP BY symbol;
