// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include <optional>
#include <string>
#include <vector>

// Recorded and made-up machines as files.
namespace ncclprobe::topology_test {

// The contents of tests/machines/<name>; fails the test if it does not exist.
std::string machine_text(const std::string& name);

// The machine in tests/machines/<name>; fails the test if it cannot be read.
topology::Machine read_machine(const std::string& name);

// Files of cloud providers, which are not ours to copy: nothing if they do not lie beside the
// sources.
std::optional<std::string> cloud_text(const std::string& name);

// Those of tests/machines that describe a machine.
const std::vector<std::string>& machine_names();

// The paths between all GPUs and NICs as one string, "X NV18 / NV18 X".
std::string labels(const topology::Machine& machine);

} // namespace ncclprobe::topology_test
