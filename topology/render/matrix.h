// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>

namespace ncclprobe::topology {

enum class Legend { yes, no };

// The matrix of `nvidia-smi topo -m`, one for each host: the same labels, rows, columns and legend,
// aligned with blanks. An unknown path is "?"; the reason is given below the matrix. A matrix of
// more than `columns` has its columns in blocks, one below the other; 0: it has any width.
std::string render_matrix(const Machine& machine, Legend legend, int columns = 0);

} // namespace ncclprobe::topology
