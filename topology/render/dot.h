// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <string>

namespace ncclprobe::topology {

// A graph for Graphviz: `dot -Tsvg`, `dot -Tpdf`.
std::string render_dot(const Machine& machine);

} // namespace ncclprobe::topology
