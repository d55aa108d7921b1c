// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/parse_enum.h"
#include "model/enum_names.h"

namespace ncclprobe::model {

using base::parse_enum;

} // namespace ncclprobe::model
