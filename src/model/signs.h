// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"

namespace ncclprobe::model {

// Whether numbers have both signs, in types that have them. none: for what must not be negative,
// such as an optimizer's second moments, of which it takes the root.
enum class Signs { both, none };

} // namespace ncclprobe::model
