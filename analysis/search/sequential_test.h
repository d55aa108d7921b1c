// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ncclprobe::analysis::search {

// Half the width of a confidence sequence for the mean of `count` values with that variance. With
// probability 1 - alpha the mean is within it after every count at once, so a test may look after
// each value and stop when it likes. For normal values, and the variance counts as known. Source:
// Robbins's normal mixture, as in Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform,
// nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49(2), 2021,
// equation 14.
double sequence_half_width(int count, double variance, double alpha);

} // namespace ncclprobe::analysis::search
