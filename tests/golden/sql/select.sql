-- every_type dialect=duckdb form=select table=t output=label,rule
/* treecompile VERSION, sql, dialect duckdb, as select, table t, output label,rule, model SHA256
   number DOUBLE, text VARCHAR, code BIGINT, flag BOOLEAN, grade VARCHAR */
SELECT
  *,
  CASE
    WHEN (CAST(number AS DOUBLE) > 2.5 AND CAST(number AS DOUBLE) <> 'NaN') THEN
      CASE
        WHEN text COLLATE C IN ('a', 'b') THEN 'text' /* R2: 3 of 3 cases */
        WHEN code IN (1, 2) THEN 'code' /* R3: 3 of 3 cases */
        WHEN flag = TRUE THEN 'flag' /* R4: 3 of 3 cases */
        WHEN grade COLLATE C IN ('low', 'mid') THEN 'grade' /* R5: 3 of 3 cases */
        ELSE 'rest' /* R6: 3 of 3 cases */
      END
    ELSE 'number' /* R1: 3 of 4 cases */
  END AS prediction,
  CASE
    WHEN (CAST(number AS DOUBLE) > 2.5 AND CAST(number AS DOUBLE) <> 'NaN') THEN
      CASE
        WHEN text COLLATE C IN ('a', 'b') THEN 'R2' /* R2: 3 of 3 cases */
        WHEN code IN (1, 2) THEN 'R3' /* R3: 3 of 3 cases */
        WHEN flag = TRUE THEN 'R4' /* R4: 3 of 3 cases */
        WHEN grade COLLATE C IN ('low', 'mid') THEN 'R5' /* R5: 3 of 3 cases */
        ELSE 'R6' /* R6: 3 of 3 cases */
      END
    ELSE 'R1' /* R1: 3 of 4 cases */
  END AS rule
FROM t;
