-- how: divided
CREATE STREAM trades (ts TIMESTAMP, symbol STRING, price DOUBLE, volume BIGINT) PROGRESS ON ts SLACK 10 SECONDS;
CREATE STREAM quotes (ts TIMESTAMP, symbol STRING, bid DOUBLE) PROGRESS ON ts SLACK 2 SECONDS;
SELECT t.symbol, t.price, q.bid FROM trades AS t JOIN quotes AS q
  ON t.symbol = q.symbol AND q.ts BETWEEN t.ts - INTERVAL '5' SECOND AND t.ts;
SELECT t.symbol, t.price, q.bid FROM trades AS t JOIN quotes AS q
  ON t.price BETWEEN q.bid - 1 AND q.bid + 1 AND q.ts BETWEEN t.ts - INTERVAL '5' SECOND AND t.ts;
