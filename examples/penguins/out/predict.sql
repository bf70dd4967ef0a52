/* treecompile 0.1.0, dialect sqlite, output label, model 7e58a52e787aee06ff4b64318fd55551db4a2b33ed7fbe775a207b98e1498701, layout decision */
CASE
  WHEN (CAST(flipper_length_mm AS REAL) <= 207 OR flipper_length_mm IS NULL) THEN
    CASE
      WHEN (CAST(bill_length_mm AS REAL) <= 43.1 OR bill_length_mm IS NULL) THEN 'Adelie' /* R1: 93 of 96 cases */
      WHEN (CAST(body_mass_g AS REAL) <= 4100 OR body_mass_g IS NULL) THEN 'Chinstrap' /* R2: 42 of 42 cases */
      WHEN CAST(bill_length_mm AS REAL) <= 48.8 THEN 'Adelie' /* R3: 3 of 5 cases */
      ELSE 'Chinstrap' /* R4: 6 of 6 cases */
    END
  WHEN (CAST(bill_depth_mm AS REAL) <= 17.6 OR bill_depth_mm IS NULL) THEN 'Gentoo' /* R5: 87 of 87 cases */
  ELSE 'Chinstrap' /* R6: 3 of 5 cases */
END
