/* treecompile 0.1.0, dialect sqlite, output label, model 89daaf2452f67516d0ec7e1690c07e96b4d44c9e3c81991e29acab7a4d03ee44, layout decision */
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
