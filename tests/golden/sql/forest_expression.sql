-- tennis
/* treecompile VERSION, sql, model SHA256
   outlook TEXT */
CASE WHEN (0.0
  + CASE /* tree 1 */
      WHEN outlook COLLATE BINARY = 'cloudy' THEN 1.0
      ELSE -1.0
    END) > 0.0 THEN 'yes' ELSE 'no' END
