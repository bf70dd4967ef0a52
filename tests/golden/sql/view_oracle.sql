-- order dialect=oracle form=view table='shop."Odd; name"' name=answers output=probability label=b
/* treecompile VERSION, sql, dialect oracle, as view, table shop.%22Odd%3B%20name%22, name answers, output probability, label b, model SHA256
   age BINARY_DOUBLE, order BINARY_DOUBLE, Full name BINARY_DOUBLE */
CREATE VIEW answers AS
SELECT
  shop."Odd; name".*,
  CASE
    WHEN (CAST(age AS BINARY_DOUBLE) <= 0.5 AND CAST(age AS BINARY_DOUBLE) IS NOT NAN) THEN 0.25d /* R1: 3 of 4 cases */
    WHEN (CAST("order" AS BINARY_DOUBLE) <= 0.5 AND CAST("order" AS BINARY_DOUBLE) IS NOT NAN) THEN 1.0d /* R2: 3 of 3 cases */
    ELSE 0.0d /* R3: 3 of 3 cases, R4: 3 of 3 cases */
  END AS probability
FROM shop."Odd; name";
