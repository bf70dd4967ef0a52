/* treecompile 0.1.0, dialect sqlite, output label, model 5875b386ed0a1dbffc8d52b42bd4d1d28106c3d59a9f0d6e0d94904f868fa275 */
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
