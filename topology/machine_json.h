// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"
#include "topology/machine.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

// The machine as JSON: a fact is {"value": ..., "source": "nvml"}, or null if it is unknown.
namespace ncclprobe::topology {

// For documents that hold parts of a machine. Reading throws nlohmann's exceptions and
// base::Exception (unknown names).
void to_json(nlohmann::json& out, const Gpu& value);
void from_json(const nlohmann::json& in, Gpu& value);
void to_json(nlohmann::json& out, const Host& value);
void from_json(const nlohmann::json& in, Host& value);
void to_json(nlohmann::json& out, const Machine& value);
void from_json(const nlohmann::json& in, Machine& value);

// A whole document, which says what it is ("ncclprobe_topology": 1). Indented.
std::string write_machine_json(const Machine& machine);

// What write_machine_json() wrote, or an edited copy: fields that are missing are unknown. Errors:
// invalid_argument with file and line, also for a machine that cannot be (see validate.h).
base::Result<Machine> read_machine_json(std::string_view text, const std::string& name);

} // namespace ncclprobe::topology
