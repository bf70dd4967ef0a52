"""Two small data sets that come with rpart, for its printed trees."""

from __future__ import annotations

import pandas as pd

# Kyphosis (p: present), Age, Number, Start: 81 children after an operation.
KYPHOSIS = """
a 71 3 5  a 158 3 14  p 128 4 5  a 2 5 1  a 1 4 15  a 1 2 16  a 61 2 17  a 37 3 16
a 113 2 16  p 59 6 12  p 82 5 14  a 148 3 16  a 18 5 2  a 1 4 12  a 168 3 18
a 1 3 16  a 78 6 15  a 175 5 13  a 80 5 16  a 27 4 9  a 22 2 16  p 105 6 5  p 96 3 12
a 131 2 3  p 15 7 2  a 9 5 13  a 8 3 6  a 100 3 14  a 4 3 16  a 151 2 16  a 31 3 16
a 125 2 11  a 130 5 13  a 112 3 16  a 140 5 11  a 93 3 16  a 1 3 9  p 52 5 6  a 20 6 9
p 91 5 12  p 73 5 1  a 35 3 13  a 143 9 3  a 61 4 1  a 97 3 16  p 139 3 10  a 136 4 15
a 131 5 13  p 121 3 3  a 177 2 14  a 68 5 10  a 9 2 17  p 139 10 6  a 2 2 17
a 140 4 15  a 72 5 15  a 2 3 13  p 120 5 8  a 51 7 9  a 102 3 13  p 130 4 1  p 114 7 8
a 81 4 1  a 118 3 16  a 118 4 16  a 17 4 10  a 195 2 17  a 159 4 13  a 18 4 11
a 15 5 16  a 158 5 14  a 127 4 12  a 87 4 16  a 206 4 10  a 11 3 15  a 178 4 15
p 157 3 13  a 26 7 13  a 120 2 13  p 42 7 6  a 36 4 13
"""

# Weight and Mileage of 60 cars.
CARS = """
2560 33 2345 33 1845 37 2260 32 2440 32 2285 26 2275 33 2350 28 2295 25 1900 34 2390 29
2075 35 2330 26 3320 20 2885 27 3310 19 2695 30 2170 33 2710 27 2775 24 2840 26 2485 28
2670 27 2640 23 2655 26 3065 25 2750 24 2920 26 2780 24 2745 25 3110 21 2920 21 2645 23
2575 24 2935 23 2920 27 2985 23 3265 20 2880 21 2975 22 3450 22 3145 22 3190 22 3610 23
2885 23 3480 21 3200 22 2765 21 3220 21 3480 23 3325 23 3855 18 3850 20 3195 18 3735 18
3665 18 3735 19 3415 20 3185 20 3690 19
"""


def kyphosis() -> pd.DataFrame:
    cells = KYPHOSIS.split()
    frame = pd.DataFrame(
        {
            name: [int(cell) for cell in cells[place::4]]
            for place, name in enumerate(("Age", "Number", "Start"), start=1)
        }
    )
    kinds = {"a": "absent", "p": "present"}
    return frame.assign(Kyphosis=[kinds[cell] for cell in cells[::4]])


def cars() -> pd.DataFrame:
    cells = [int(cell) for cell in CARS.split()]
    return pd.DataFrame({"Weight": cells[::2], "Mileage": cells[1::2]})
