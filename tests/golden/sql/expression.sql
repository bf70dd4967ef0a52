-- every_type
/* treecompile VERSION, sql, model SHA256
   number REAL, text TEXT, code INTEGER, flag BOOLEAN, grade TEXT */
CASE
  WHEN number > CAST(2.5 AS REAL) THEN
    CASE
      WHEN text COLLATE BINARY IN ('a', 'b') THEN 'text' /* R2: 3 of 3 cases */
      WHEN code IN (1, 2) THEN 'code' /* R3: 3 of 3 cases */
      WHEN flag = 1 THEN 'flag' /* R4: 3 of 3 cases */
      WHEN grade COLLATE BINARY IN ('low', 'mid') THEN 'grade' /* R5: 3 of 3 cases */
      ELSE 'rest' /* R6: 3 of 3 cases */
    END
  ELSE 'number' /* R1: 3 of 4 cases */
END
