// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "machine/machine.h"

#include "base/error.h"

#include <string>
#include <string_view>

namespace ncclprobe::topology {

// The machine as JSON (document.h), which says what it is ("ncclprobe_topology": 1). Indented.
std::string write_machine_json(const Machine& machine);

// What write_machine_json() wrote, or an edited copy: fields that are missing are unknown. Errors:
// invalid_argument with file and line, also for a machine that cannot be (see validate.h).
base::Result<Machine> read_machine_json(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
