/* treecompile 0.1.0; dialect sqlite; output label; model fcad8db74d6004322f079c1c82285ee57b016d92b9447c5c55d4ef5da1250ad7 */
CASE
  WHEN `outlook` COLLATE BINARY = 'cloudy' THEN 'yes' /* R1: 4 of 4 cases */
  WHEN `outlook` COLLATE BINARY = 'sunny' THEN
    CASE
      WHEN `humidity` COLLATE BINARY = 'normal' THEN 'yes' /* R5: 2 of 2 cases */
      ELSE 'no' /* R4: 3 of 3 cases */
    END
  WHEN `wind` COLLATE BINARY = 'strong' THEN 'no' /* R2: 2 of 2 cases */
  ELSE 'yes' /* R3: 3 of 3 cases */
END
