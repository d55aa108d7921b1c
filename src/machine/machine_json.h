// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <string>
#include <string_view>

namespace ncclprobe::topology {

// The machine as JSON (document.h) with its format version ("ncclprobe_topology": 1). Indented.
std::string write_machine_json(const Machine& machine);

// Reads the output of write_machine_json(), or an edited copy: missing fields are unknown. Errors:
// invalid_argument with file and line, also for an impossible machine (see validate.h).
Result<Machine> read_machine_json(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
