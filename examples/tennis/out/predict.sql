/* treecompile 0.1.0, sql, model 52dce5d19cb933e31a0bf24d4069b8ace7b5baa64bb023d0d514f633b6c2d8f4
   outlook TEXT, humidity TEXT, wind TEXT */
CASE
  WHEN outlook COLLATE BINARY = 'cloudy' THEN 'yes' /* R1: 4 of 4 cases */
  WHEN outlook COLLATE BINARY = 'sunny' THEN
    CASE
      WHEN humidity COLLATE BINARY = 'normal' THEN 'yes' /* R5: 2 of 2 cases */
      ELSE 'no' /* R4: 3 of 3 cases */
    END
  WHEN wind COLLATE BINARY = 'strong' THEN 'no' /* R2: 2 of 2 cases */
  ELSE 'yes' /* R3: 3 of 3 cases */
END
