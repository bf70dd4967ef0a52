/* treecompile 0.2.0, sql, model 5de497a6cba484bbde60641317ae780032b5edb54c0cd7d41dc492240d26ef44
   bill_length_mm REAL, bill_depth_mm REAL, flipper_length_mm REAL, body_mass_g REAL */
CASE
  WHEN flipper_length_mm > CAST(207 AS REAL) THEN
    CASE
      WHEN bill_depth_mm > CAST(17.6 AS REAL) THEN 'Chinstrap' /* R6: 3 of 5 cases */
      ELSE 'Gentoo' /* R5: 87 of 87 cases */
    END
  WHEN bill_length_mm > CAST(43.1 AS REAL) THEN
    CASE
      WHEN body_mass_g > CAST(4100 AS REAL) THEN
        CASE
          WHEN bill_length_mm <= CAST(48.8 AS REAL) THEN 'Adelie' /* R3: 3 of 5 cases */
          ELSE 'Chinstrap' /* R4: 6 of 6 cases */
        END
      ELSE 'Chinstrap' /* R2: 42 of 42 cases */
    END
  ELSE 'Adelie' /* R1: 93 of 96 cases */
END
