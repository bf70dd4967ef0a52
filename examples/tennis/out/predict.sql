/* treecompile 0.2.0, sql, model 9f65e1a58e9cd2d3e419fc4b9c9c51e256a03d67b3bf4a2a1441e4e57bd16f59
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
