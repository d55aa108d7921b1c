// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "topology/machine.h"

#include <string>

namespace ncclprobe::topology {

// What all code that takes a Machine may rely on: indexes and bus ids are unique within a host,
// parents stand before their children (so there is no cycle), references lead somewhere, and counts
// are sane. Errors: invalid_argument, "<name>: what contradicts what".
base::Result<void> validate(const Machine& machine, const std::string& name);

} // namespace ncclprobe::topology
