// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/enum_names.h"

namespace ncclprobe::model {

// Found by argument-dependent lookup for the enumerations of the model.
using base::enum_names;
using base::to_string;

} // namespace ncclprobe::model
