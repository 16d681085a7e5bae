-- how: threads=4
CREATE STREAM trades (ts TIMESTAMP, symbol STRING, price DOUBLE, volume BIGINT) PROGRESS ON ts SLACK 10 SECONDS;
SELECT symbol, sum(volume) AS volume FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTES WATTR ts] GROUP BY symbol;
SELECT volume, count(*) AS n FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTES WATTR ts] GROUP BY volume;
SELECT count(*) AS n FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTES WATTR ts];
SELECT symbol, median(price) AS middle FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTES WATTR ts] GROUP BY symbol;
SELECT symbol, count(*) AS n FROM trades [RANGE 10 ROWS SLIDE 1 ROWS PATTR symbol] GROUP BY symbol;
SELECT count(*) AS n FROM trades [RANGE 10 ROWS SLIDE 1 ROWS];
SELECT symbol, count(*) AS n FROM trades [RANGE 10 MINUTES SLIDE 1 MINUTES WATTR ts] GROUP BY symbol EMIT COMPLETE;
CREATE STREAM quotes (ts TIMESTAMP, symbol STRING, bid DOUBLE) PROGRESS ON ts SLACK 10 SECONDS;
SELECT a.symbol, a.price, b.bid FROM trades [RANGE 1 MINUTES] AS a JOIN quotes [RANGE 1 MINUTES] AS b ON a.symbol = b.symbol;
