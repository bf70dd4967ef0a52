/* treecompile 0.1.0, dialect sqlite, output label, model 680dd48d7854ca3c4ef616229c8f4573d080c75fe3d47cf6116b17f24b794788 */
CASE
  WHEN (CAST(flipper_length_mm AS REAL) <= 207 OR flipper_length_mm IS NULL) THEN
    CASE
      WHEN (CAST(bill_length_mm AS REAL) <= 43.1 OR bill_length_mm IS NULL) THEN 'Adelie' /* R1: 92.4 of 94.8 cases */
      WHEN (CAST(body_mass_g AS REAL) <= 4100 OR body_mass_g IS NULL) THEN 'Chinstrap' /* R2: 42 of 42.4 cases */
      WHEN CAST(bill_length_mm AS REAL) <= 48.8 THEN 'Adelie' /* R3: 3 of 5 cases */
      ELSE 'Chinstrap' /* R4: 6 of 6.1 cases */
    END
  WHEN (CAST(bill_depth_mm AS REAL) <= 17.6 OR bill_depth_mm IS NULL) THEN 'Gentoo' /* R5: 87.4 of 87.7 cases */
  ELSE 'Chinstrap' /* R6: 3 of 5 cases */
END
