-- braces dialect=duckdb form=dbt table=rows
/* treecompile VERSION, sql, dialect duckdb, as dbt, table rows, model SHA256
   %7B%25 x VARCHAR */
WITH typed AS (
  SELECT
    *,
    "{{ "{" }}% x" COLLATE C AS tc_x
  FROM {{ ref("rows") }}
),
sums_0 AS (
  SELECT
    *,
    0.0e0
    + CASE /* tree 1 */
        WHEN tc_x = '{{ "{" }}{ x }}' THEN 1.0e0
        ELSE -1.0e0
      END AS tc_m0_0
  FROM typed
)
SELECT
  * EXCLUDE (tc_x, tc_m0_0),
  CASE WHEN tc_m0_0 > 0.0e0 THEN 'yes' ELSE '{{ "{" }}{ no }}' END AS prediction
FROM sums_0
-- beside:
version: 2

models:
  - name: "predictions"
    description: "Predictions of y, written by treecompile"
    columns:
      - name: "prediction"
        description: "The predicted y"
        data_tests:
          - not_null
          - accepted_values:
              arguments:
                values: ["'{{ \"{\" }}{ no }}'", "'yes'"]
                quote: false
