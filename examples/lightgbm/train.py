"""Train the model of this example with LightGBM, and save it as booster.txt."""

from pathlib import Path

import lightgbm
import pandas as pd

HERE = Path(__file__).parent
MEASURES = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]

penguins = pd.read_csv(HERE.parent / "penguins" / "penguins.csv")
penguins = penguins[penguins["sex"].notna()]
columns = penguins[["species", *MEASURES]].astype({"species": "category"})
rows = lightgbm.Dataset(columns, penguins["sex"] == "male")
options = {
    "objective": "binary",
    "num_leaves": 5,
    "learning_rate": 0.3,
    "min_data_per_group": 10,
    "num_threads": 1,
    "verbose": -1,
}
lightgbm.train(options, rows, 12).save_model(HERE / "booster.txt")
