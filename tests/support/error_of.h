// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/error.h"

namespace ncclprobe::support {

// The error that `act` throws. If it throws none, one that no test expects.
template <typename Act>
base::Error error_of(Act act) {
  try {
    act();
  } catch (const base::Exception& error) {
    return error.error();
  }
  return {base::Errc::timed_out, "nothing was thrown", {}};
}

} // namespace ncclprobe::support
