-- flags dialect=tsql form=dbt table=raw.rows output=label,rule name=answers
/* treecompile VERSION, sql, dialect tsql, as dbt, table raw.rows, name answers, output label,rule, model SHA256
   text BIT */
SELECT
  *,
  CASE
    WHEN text = CAST(1 AS BIT) THEN CAST(1 AS BIT) /* R1: 3 of 4 cases */
    ELSE CAST(0 AS BIT) /* R2: 3 of 3 cases */
  END AS prediction,
  CASE
    WHEN text = CAST(1 AS BIT) THEN N'R1' /* R1: 3 of 4 cases */
    ELSE N'R2' /* R2: 3 of 3 cases */
  END AS [rule]
FROM {{ source("raw", "rows") }}
-- beside:
version: 2

models:
  - name: "answers"
    description: "Predictions of answer, written by treecompile"
    columns:
      - name: "prediction"
        description: "The predicted answer"
        data_tests:
          - not_null
          - accepted_values:
              arguments:
                values: ["CAST(1 AS BIT)", "CAST(0 AS BIT)"]
                quote: false
      - name: "rule"
        description: "The rule of the model that decided"
        quote: true
        data_tests:
          - not_null
