// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "plugin/profiler/limits.h"

#include <string>
#include <variant>

namespace ncclprobe::plugin {

// The limits that NCCLPROBE_CAPTURE_FOR, NCCLPROBE_CAPTURE_LAST ("30s", "500ms"),
// NCCLPROBE_CAPTURE_MAX_BYTES ("2147483648"), NCCLPROBE_CAPTURE_STEPS and NCCLPROBE_CAPTURE_EVERY
// ("100") set; or what is wrong with them. `value_of`: the value
// of a variable, or null.
std::variant<Limits, std::string> limits_of(const char* (*value_of)(const char* variable));

} // namespace ncclprobe::plugin
