-- evil dialect=snowflake form=select table='t */; {{'
/* treecompile VERSION, sql, dialect snowflake, as select, table t%20%2A/%3B%20%7B%7B, model SHA256
   %2A%2F %3B %26 %7B%7B x %7D%7D%0A-- VARCHAR */
SELECT
  *,
  CASE
    WHEN COLLATE("*/ ; & {{ x }}
--", 'utf8') = '*/ ; & {{ x }}\n--' THEN '*/ ; & {{ x }}\n--' /* R1: 3 of 4 cases */
    ELSE '\'; --' /* R2: 3 of 3 cases */
  END AS prediction
FROM "t */; {{";
