// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/enum_names.h"

namespace ncclprobe::model {

// Whether numbers have both signs, for types that have them. none: for values that must not be
// negative, such as an optimizer's second moments, whose root it takes.
enum class Signs { both, none };

} // namespace ncclprobe::model
