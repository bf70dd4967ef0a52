-- boosted dialect=postgres form=view table=t
/* treecompile VERSION, sql, dialect postgres, as view, table t, model SHA256
   x DOUBLE PRECISION, y DOUBLE PRECISION */
CREATE VIEW predictions AS
SELECT
  t.*,
  tc_m0_0 AS prediction
FROM t
CROSS JOIN LATERAL (
  SELECT
    CAST(CAST(0.30000001192092896::float8 AS REAL)
    + CAST(CASE /* tree 1 */
        WHEN CAST(y AS DOUBLE PRECISION) <= 1.29 THEN 0.0014494456117972732::float8
        WHEN CAST(x AS DOUBLE PRECISION) <= -1.09 THEN 3.13345153699629e-05::float8
        ELSE -2.1094508171081543::float8
      END AS REAL)
    + CAST(CASE /* tree 2 */
        WHEN (CAST(x AS DOUBLE PRECISION) > 0.16 AND CAST(x AS DOUBLE PRECISION) <> 'NaN') THEN
          CASE
            WHEN CAST(x AS DOUBLE PRECISION) <= -0.74 THEN 0.00020296918228268623::float8
            ELSE -14.470231056213379::float8
          END
        ELSE -0.0026271333917975426::float8
      END AS REAL)
    + CAST(CASE /* tree 3 */
        WHEN (CAST(x AS DOUBLE PRECISION) > -2.29 AND CAST(x AS DOUBLE PRECISION) <> 'NaN') THEN
          CASE
            WHEN CAST(y AS DOUBLE PRECISION) <= -0.19 THEN -12.106683731079102::float8
            ELSE 0.0007686348399147391::float8
          END
        ELSE -0.6087532639503479::float8
      END AS REAL) AS DOUBLE PRECISION) AS tc_m0_0
  OFFSET 0
) AS sums_0;
