/* treecompile 0.1.0; dialect sqlite; output label; model eed9802e84a2479901824d12e7e9290929644c31f14ee7b4b6fca389a3b54be4 */
CASE
  WHEN CAST(`flipper_length_mm` AS REAL) > 207.5 THEN
    CASE
      WHEN `island` COLLATE BINARY IN ('Dream', 'Torgersen') THEN 'Chinstrap' /* R8: 3 of 5 cases */
      ELSE 'Gentoo' /* R7: 87 of 87 cases */
    END
  WHEN (CAST(`bill_length_mm` AS REAL) <= 43.15 OR `bill_length_mm` IS NULL) THEN
    CASE
      WHEN CAST(`bill_length_mm` AS REAL) > 42.25 THEN 'Adelie' /* R3: 4 of 5 cases */
      WHEN CAST(`bill_depth_mm` AS REAL) <= 16.65 THEN 'Adelie' /* R1: 7 of 8 cases */
      ELSE 'Adelie' /* R2: 82 of 83 cases */
    END
  WHEN (CAST(`body_mass_g` AS REAL) <= 4125.0 OR `body_mass_g` IS NULL) THEN 'Chinstrap' /* R4: 42 of 42 cases */
  WHEN CAST(`bill_length_mm` AS REAL) <= 48.8 THEN 'Adelie' /* R5: 3 of 5 cases */
  ELSE 'Chinstrap' /* R6: 6 of 6 cases */
END
