-- evil dialect=tsql
/* treecompile VERSION, sql, dialect tsql, model SHA256
   %2A%2F %3B %26 %7B%7B x %7D%7D%0A-- NVARCHAR */
CASE
  WHEN ([*/ ; & {{ x }}
--] + N'.') COLLATE Latin1_General_100_BIN2 = (N'*/ ; & {{ x }}' + NCHAR(10) + N'--.') THEN (N'*/ ; & {{ x }}' + NCHAR(10) + N'--') /* R1: 3 of 4 cases */
  ELSE N'''; --' /* R2: 3 of 3 cases */
END
