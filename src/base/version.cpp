// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/version.h"

namespace ncclprobe::base {

std::string_view version() {
  return NCCLPROBE_VERSION;
}

} // namespace ncclprobe::base
