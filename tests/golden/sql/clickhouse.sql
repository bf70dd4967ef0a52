-- every_type dialect=clickhouse output=probability label=rest
/* treecompile VERSION, sql, dialect clickhouse, output probability, label rest, model SHA256
   number Nullable(Float64), text Nullable(String), code Nullable(Int64), flag Nullable(Bool),
   grade Nullable(String) */
CASE
  WHEN number / 1e0 > 2.5 THEN
    CASE
      WHEN text IN ('a', 'b') THEN 0.0e0 /* R2: 3 of 3 cases */
      WHEN code IN (1, 2) THEN 0.0e0 /* R3: 3 of 3 cases */
      WHEN flag = true THEN 0.0e0 /* R4: 3 of 3 cases */
      WHEN grade IN ('low', 'mid') THEN 0.0e0 /* R5: 3 of 3 cases */
      ELSE 1.0e0 /* R6: 3 of 3 cases */
    END
  ELSE 0.0e0 /* R1: 3 of 4 cases */
END
