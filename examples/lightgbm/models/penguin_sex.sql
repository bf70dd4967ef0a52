/* treecompile 0.2.0, sql, dialect duckdb, as dbt, table raw.penguins, name penguin_sex, output label,margin, model b9a0c63aa5ed7def2c78f71b1376a066e0de666dadd955b40e41023d2c47a633
   species VARCHAR, bill_length_mm DOUBLE, bill_depth_mm DOUBLE, flipper_length_mm DOUBLE, body_mass_g DOUBLE */
WITH typed AS (
  SELECT
    *,
    species COLLATE C AS tc_species,
    NULLIF(CAST(bill_length_mm AS DOUBLE), 'NaN') AS tc_bill_length_mm,
    NULLIF(CAST(bill_depth_mm AS DOUBLE), 'NaN') AS tc_bill_depth_mm,
    NULLIF(CAST(flipper_length_mm AS DOUBLE), 'NaN') AS tc_flipper_length_mm,
    NULLIF(CAST(body_mass_g AS DOUBLE), 'NaN') AS tc_body_mass_g
  FROM {{ source("raw", "penguins") }}
),
sums_0 AS (
  SELECT
    *,
    0.0e0
    + CASE /* tree 1 */
        WHEN tc_body_mass_g > 3712.5000000000005e0 THEN
          CASE
            WHEN tc_bill_depth_mm > 14.850000000000003e0 THEN
              CASE
                WHEN tc_body_mass_g <= 3887.5000000000005e0 THEN 0.16818084928294452e0
                ELSE 0.5163031898667927e0
              END
            ELSE -0.4802844925358802e0
          END
        WHEN tc_bill_depth_mm > 18.550000000000004e0 THEN 0.13262240703877887e0
        ELSE -0.5585180381467663e0
      END
    + CASE /* tree 2 */
        WHEN tc_bill_length_mm > 47.75000000000001 THEN 0.3589318440364007e0
        WHEN tc_bill_depth_mm > 17.950000000000003e0 THEN
          CASE
            WHEN tc_body_mass_g > 3612.5000000000005e0 THEN 0.36454500214752833e0
            ELSE -0.2595912068351982e0
          END
        WHEN tc_body_mass_g > 4962.500000000001 THEN 0.15559626197860257e0
        ELSE -0.4484160842523525e0
      END
    + CASE /* tree 3 */
        WHEN tc_body_mass_g > 5225.000000000001 THEN 0.4557170597483967e0
        WHEN tc_bill_depth_mm > 18.050000000000004e0 THEN
          CASE
            WHEN tc_bill_length_mm > 38.15000000000001 THEN
              CASE
                WHEN tc_body_mass_g > 3612.5000000000005e0 THEN 0.36680787804127396e0
                ELSE 0.08607674913965009e0
              END
            ELSE -0.13447138007022835e0
          END
        ELSE -0.3193993360049259e0
      END
    + CASE /* tree 4 */
        WHEN tc_body_mass_g > 5225.000000000001 THEN 0.40218195415331015e0
        WHEN tc_bill_depth_mm > 17.950000000000003e0 THEN
          CASE
            WHEN tc_body_mass_g > 3612.5000000000005e0 THEN 0.2793384996198346e0
            ELSE -0.10250730687172717e0
          END
        WHEN tc_body_mass_g > 4962.500000000001 THEN 0.02037143238006298e0
        ELSE -0.3131194857655842e0
      END
    + CASE /* tree 5 */
        WHEN tc_bill_length_mm > 49.15000000000001 THEN 0.2680884966721405e0
        WHEN tc_bill_depth_mm > 19.450000000000003e0 THEN 0.34712411778872165e0
        WHEN tc_body_mass_g > 5025.000000000001 THEN 0.22962119557563535e0
        WHEN tc_species = 'Adelie' THEN -0.02261174808740694e0
        ELSE -0.38263013391121853e0
      END
    + CASE /* tree 6 */
        WHEN tc_bill_length_mm > 37.10000000000001 THEN
          CASE
            WHEN tc_bill_depth_mm > 14.850000000000003e0 THEN
              CASE
                WHEN tc_body_mass_g > 3712.5000000000005e0 THEN 0.25443443604031624e0
                WHEN tc_bill_depth_mm <= 18.550000000000004e0 THEN -0.3007204711066954e0
                ELSE 0.15067199919086638e0
              END
            ELSE -0.27850204607497353e0
          END
        ELSE -0.3726717291878742e0
      END
    + CASE /* tree 7 */
        WHEN tc_body_mass_g > 5225.000000000001 THEN 0.3603908259653206e0
        WHEN tc_bill_depth_mm > 18.950000000000003e0 THEN 0.211339503399373e0
        WHEN tc_bill_depth_mm > 14.850000000000003e0 THEN
          CASE
            WHEN tc_body_mass_g > 3887.5000000000005e0 THEN 0.16981155068509604e0
            ELSE -0.19485972374060875e0
          END
        ELSE -0.3657661877220925e0
      END
    + CASE /* tree 8 */
        WHEN tc_bill_length_mm > 37.10000000000001 THEN
          CASE
            WHEN tc_bill_depth_mm > 15.250000000000002e0 THEN
              CASE
                WHEN tc_body_mass_g > 3925.0000000000005e0 THEN 0.29292937399502045e0
                ELSE -0.005980848570615566e0
              END
            WHEN tc_body_mass_g > 5075.000000000001 THEN 0.1294121091303781e0
            ELSE -0.32037625875541553e0
          END
        ELSE -0.316345785656259e0
      END
    + CASE /* tree 9 */
        WHEN tc_body_mass_g > 3462.5000000000005e0 THEN
          CASE
            WHEN tc_species = 'Adelie' THEN
              CASE
                WHEN tc_bill_length_mm > 39.65000000000001 THEN 0.4552627852120286e0
                ELSE -0.018291691533778777e0
              END
            WHEN tc_bill_length_mm > 47.75000000000001 THEN 0.1454040109159579e0
            ELSE -0.25528420541754043e0
          END
        ELSE -0.20969418239946305e0
      END
    + CASE /* tree 10 */
        WHEN tc_body_mass_g > 5225.000000000001 THEN 0.34008498286012817e0
        WHEN tc_bill_depth_mm > 19.450000000000003e0 THEN 0.2803405948674375e0
        WHEN tc_bill_length_mm > 37.10000000000001 THEN
          CASE
            WHEN tc_species = 'Adelie' THEN 0.12295251796746351e0
            ELSE -0.15425608433581203e0
          END
        ELSE -0.3365738225459379e0
      END
    + CASE /* tree 11 */
        WHEN tc_bill_length_mm > 39.65000000000001 THEN
          CASE
            WHEN tc_species = 'Adelie' THEN 0.33392241893636e0
            WHEN tc_bill_length_mm > 48.15000000000001 THEN 0.14619775006771465e0
            WHEN tc_body_mass_g > 4962.500000000001 THEN 0.1572490335662034e0
            ELSE -0.41748943222397716e0
          END
        ELSE -0.1439565639331997e0
      END
    + CASE /* tree 12 */
        WHEN tc_flipper_length_mm > 219.50000000000003e0 THEN 0.2987940033682273e0
        WHEN tc_bill_depth_mm > 19.050000000000004e0 THEN 0.17267268018541496e0
        WHEN tc_bill_length_mm > 37.10000000000001 THEN
          CASE
            WHEN tc_flipper_length_mm > 194.50000000000003e0 THEN -0.13750945500336426e0
            ELSE 0.061638243350923834e0
          END
        ELSE -0.349144681641047e0
      END AS tc_m0_0
  FROM typed
)
SELECT
  * EXCLUDE (tc_species, tc_bill_length_mm, tc_bill_depth_mm, tc_flipper_length_mm, tc_body_mass_g, tc_m0_0),
  CASE WHEN tc_m0_0 > 1.6653345369377348e-16 THEN 'male' ELSE 'female' END AS prediction,
  tc_m0_0 AS margin
FROM sums_0
