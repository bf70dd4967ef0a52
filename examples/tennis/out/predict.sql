/* treecompile 0.1.0; dialect sqlite; output label; model 6243b8d3f19df74489e749df85bca126854bca8759f8d803f8ca4472ea62c6c8 */
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
