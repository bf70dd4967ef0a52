-- tennis dialect=bigquery form=select table=typed output=label,probability comments=
WITH typed_ AS (
  SELECT
    *,
    COLLATE(outlook, '') AS tc_outlook
  FROM typed
),
sums_0 AS (
  SELECT
    *,
    0.0e0
    + CASE
        WHEN tc_outlook = 'cloudy' THEN 1.0e0
        ELSE -1.0e0
      END AS tc_m0_0
  FROM typed_
)
SELECT
  * EXCEPT (tc_outlook, tc_m0_0),
  CASE WHEN tc_m0_0 > 0.0e0 THEN 'yes' ELSE 'no' END AS prediction,
  CASE WHEN tc_m0_0 > 0.0e0 THEN 1.0e0 / (1.0e0 + EXP(CASE WHEN -1.0e0 * tc_m0_0 > 700.0e0 THEN 700.0e0 WHEN -1.0e0 * tc_m0_0 < -700.0e0 THEN -700.0e0 ELSE -1.0e0 * tc_m0_0 END)) ELSE 1.0e0 - 1.0e0 / (1.0e0 + EXP(CASE WHEN -1.0e0 * tc_m0_0 > 700.0e0 THEN 700.0e0 WHEN -1.0e0 * tc_m0_0 < -700.0e0 THEN -700.0e0 ELSE -1.0e0 * tc_m0_0 END)) END AS probability
FROM sums_0;
